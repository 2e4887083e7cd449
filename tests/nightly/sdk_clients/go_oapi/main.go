// The story with the client of oapi-codegen for Go.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"controlplane/client"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func authorise(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("CP_TOKEN"))
	return nil
}

func main() {
	ctx := context.Background()
	api, err := client.NewClientWithResponses(os.Getenv("CP_URL"), client.WithRequestEditorFn(authorise))
	check(err)

	me, err := api.MeGetWithResponse(ctx)
	check(err)
	project := "sdk-go-oapi"
	_, err = api.ProjectsCreateWithResponse(ctx, nil, client.ProjectWriteRequest{Id: project})
	check(err)
	override, err := api.OverridesPutWithResponse(ctx, "workflow_execution_config",
		&client.OverridesPutParams{Project: &project},
		client.OverrideWriteRequest{Attributes: map[string]interface{}{"max_parallelism": 7}})
	check(err)
	effective, err := api.OverridesEffectiveWithResponse(ctx, &client.OverridesEffectiveParams{Project: &project})
	check(err)
	leaf := effective.JSON200.Items[0].Leaves[0]
	agent, err := api.AgentsRegisterWithResponse(ctx, nil, client.OwnedRegistrationWriteRequest{
		Name: project, Environment: "prod", ServiceTypes: []string{"vm"}, Cost: "low", TopicName: "dcm.agent." + project,
	})
	check(err)
	heartbeat, err := api.AgentsHeartbeatWithResponse(ctx, agent.JSON201.AgentId,
		client.HeartbeatWriteRequest{Timestamp: time.Now().UTC(), ConsumerLag: 0})
	check(err)
	refused, err := api.AgentsGetWithResponse(ctx, uuid.MustParse("019a9f5e-7c00-7000-8000-000000000001"), nil)
	check(err)
	fmt.Println(me.JSON200.Name != "", override.JSON201.Version, leaf.Value, leaf.Source.Scope.Level,
		heartbeat.JSON200.HealthStatus, refused.ApplicationproblemJSON404.Code)
}
