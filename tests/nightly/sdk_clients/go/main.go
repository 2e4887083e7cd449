// The story with the client of openapi-generator for Go.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	controlplane "controlplane/client"
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
	client := controlplane.NewAPIClient(settings)
	ctx := context.WithValue(context.Background(), controlplane.ContextAccessToken, os.Getenv("CP_TOKEN"))

	me, _, err := client.AccessAPI.MeGet(ctx).Execute()
	check(err)
	wanted := controlplane.NewProjectWriteRequest("sdk-go")
	project, _, err := client.ProjectsAndDomainsAPI.ProjectsCreate(ctx).ProjectWriteRequest(*wanted).Execute()
	check(err)
	body := controlplane.NewOverrideWriteRequest(map[string]interface{}{"max_parallelism": 7})
	override, _, err := client.OverridesAPI.OverridesPut(ctx, "workflow_execution_config").
		Project(project.Id).OverrideWriteRequest(*body).Execute()
	check(err)
	effective, _, err := client.OverridesAPI.OverridesEffective(ctx).Project(project.Id).Execute()
	check(err)
	leaf := effective.Items[0].Leaves[0]
	registration := controlplane.NewAgentRegistrationWriteRequest(
		"sdk-go", "prod", []string{"vm"}, controlplane.COSTTIER_LOW, "dcm.agent.sdk-go")
	agent, _, err := client.AgentsAPI.AgentsRegister(ctx).AgentRegistrationWriteRequest(*registration).Execute()
	check(err)
	beat := controlplane.NewHeartbeatWriteRequest(time.Now().UTC(), 0)
	heartbeat, _, err := client.AgentsAPI.AgentsHeartbeat(ctx, agent.AgentId).HeartbeatWriteRequest(*beat).Execute()
	check(err)
	_, _, refused := client.AgentsAPI.AgentsGet(ctx, missing).Execute()
	problem := refused.(*controlplane.GenericOpenAPIError).Model().(controlplane.Problem)
	fmt.Println(me.Name != "", override.Version, leaf.Value, leaf.Source.Scope.Level, heartbeat.HealthStatus, problem.Code)
}
