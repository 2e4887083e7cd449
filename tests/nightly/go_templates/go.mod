module go_templates

go 1.23
