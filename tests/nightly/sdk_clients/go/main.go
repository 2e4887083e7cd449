// The story with the client of openapi-generator for Go, and with the session of sdk/go.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	controlplane "controlplane/client"
	"controlplane/session"
)

const missing = "019a9f5e-7c00-7000-8000-000000000001"

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	settings := controlplane.NewConfiguration()
	settings.Servers = controlplane.ServerConfigurations{{URL: os.Getenv("CP_URL")}}
	settings.HTTPClient = session.NewClient(session.Fixed(os.Getenv("CP_TOKEN")))
	client := controlplane.NewAPIClient(settings)
	ctx := context.Background()

	me, _, err := client.AccessAPI.MeGet(ctx).Execute()
	check(err)
	wanted := controlplane.NewProjectWriteRequest("sdk-go")
	project, _, err := client.ProjectsAndDomainsAPI.ProjectsCreate(ctx).ProjectWriteRequest(*wanted).Execute()
	check(err)
	body := controlplane.NewOverrideWriteRequest(map[string]interface{}{"max_parallelism": 7})
	override, _, err := client.OverridesAPI.OverridesPut(ctx, "workflow_execution_config").
		Project(project.Id).OverrideWriteRequest(*body).Execute()
	check(err)
	override, err = raised(ctx, client, project.Id)
	check(err)
	effective, _, err := client.OverridesAPI.OverridesEffective(ctx).Project(project.Id).Execute()
	check(err)
	leaf := effective.Items[0].Leaves[0]
	registration := controlplane.NewOwnedRegistrationWriteRequest(
		"sdk-go", "prod", []string{"vm"}, controlplane.COSTTIER_LOW, "dcm.agent.sdk-go")
	agent, _, err := client.AgentsAPI.AgentsRegister(ctx).OwnedRegistrationWriteRequest(*registration).Execute()
	check(err)
	beat := controlplane.NewHeartbeatWriteRequest(time.Now().UTC(), 0)
	heartbeat, _, err := client.AgentsAPI.AgentsHeartbeat(ctx, agent.AgentId).HeartbeatWriteRequest(*beat).Execute()
	check(err)
	_, _, refused := client.AgentsAPI.AgentsGet(ctx, missing).Execute()
	problem := refused.(*controlplane.GenericOpenAPIError).Model().(controlplane.Problem)
	fmt.Println(listed(ctx, client), watched(ctx, settings.Servers[0].URL, settings))
	fmt.Println(me.Name != "", override.Version, leaf.Value, leaf.Source.Scope.Level, heartbeat.HealthStatus, problem.Code)
}

// raised changes the version of the override that was read.
func raised(ctx context.Context, client *controlplane.APIClient, project string) (*controlplane.OverrideRead, error) {
	read := func(ctx context.Context) (*controlplane.OverrideRead, string, error) {
		override, response, err := client.OverridesAPI.OverridesGet(ctx, "workflow_execution_config").Project(project).Execute()
		if err != nil {
			return nil, "", err
		}
		return override, response.Header.Get("ETag"), nil
	}
	write := func(ctx context.Context, seen *controlplane.OverrideRead, etag string) (*controlplane.OverrideRead, error) {
		attributes := seen.Attributes
		attributes["max_parallelism"] = 8
		body := controlplane.NewOverrideWriteRequest(attributes)
		changed, response, err := client.OverridesAPI.OverridesPut(ctx, "workflow_execution_config").
			Project(project).IfMatch(etag).OverrideWriteRequest(*body).Execute()
		return changed, session.Changed(response, err)
	}
	return session.UpdateWithETag(ctx, read, write)
}

// listed counts the agents, one a page.
func listed(ctx context.Context, client *controlplane.APIClient) int {
	count := 0
	for _, err := range session.Every(func(cursor string) ([]controlplane.AgentRead, string, error) {
		request := client.AgentsAPI.AgentsList(ctx).Limit(1)
		if cursor != "" {
			request = request.Cursor(cursor)
		}
		page, _, err := request.Execute()
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.GetNextCursor(), nil
	}) {
		check(err)
		count++
	}
	return count
}

// watched returns the type of the first event about an agent.
func watched(ctx context.Context, server string, settings *controlplane.Configuration) string {
	filters := url.Values{"object_type": {"agent"}}
	for event, err := range session.Watch(ctx, settings.HTTPClient, server, 0, filters) {
		check(err)
		return event.Type
	}
	return ""
}
