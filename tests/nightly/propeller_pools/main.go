// Command propeller_pools lets FlytePropeller's own resource manager allocate units from a server that speaks
// the protocol of Redis. In each round all clients ask at once; it prints how many held a unit at most.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sync"
	"sync/atomic"

	"github.com/flyteorg/flyte/flyteidl/gen/pb-go/flyteidl/core"
	pluginCore "github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/core"
	"github.com/flyteorg/flyte/flytepropeller/pkg/controller/nodes/task/resourcemanager"
	"github.com/flyteorg/flyte/flytepropeller/pkg/controller/nodes/task/resourcemanager/config"
	"github.com/flyteorg/flyte/flytestdlib/promutils"
)

const (
	plugin    = "agent-service"
	namespace = "default"
)

func execution(number int) *core.TaskExecutionIdentifier {
	return &core.TaskExecutionIdentifier{
		NodeExecutionId: &core.NodeExecutionIdentifier{
			NodeId: "n0",
			ExecutionId: &core.WorkflowExecutionIdentifier{
				Project: "my-shop", Domain: "production", Name: fmt.Sprintf("f%d", number),
			},
		},
	}
}

func main() {
	address := flag.String("address", "", "host:port")
	password := flag.String("password", "", "token")
	clients := flag.Int("clients", 64, "clients that ask at once")
	rounds := flag.Int("rounds", 20, "rounds")
	quota := flag.Int("quota", 3, "quota in propeller's configuration")
	flag.Parse()

	ctx := context.Background()
	client, err := resourcemanager.NewRedisClient(ctx, config.RedisConfig{
		HostPaths: []string{*address}, HostKey: *password,
	})
	check(err)
	builder, err := resourcemanager.NewRedisResourceManagerBuilder(ctx, client, promutils.NewScope("pools"))
	check(err)
	prefix := pluginCore.ResourceNamespace(builder.GetID()).CreateSubNamespace(plugin)
	check(builder.GetResourceRegistrar(prefix).RegisterResourceQuota(ctx, namespace, *quota))
	manager, err := builder.BuildResourceManager(ctx)
	check(err)

	var most, granted int64
	for round := 0; round < *rounds; round++ {
		var holders int64
		results := make([]pluginCore.AllocationStatus, *clients)
		each(*clients, func(number int) {
			token := fmt.Sprintf("task-%d", round)
			task := resourcemanager.GetTaskResourceManager(manager, prefix, execution(number))
			status, err := task.AllocateResource(ctx, namespace, token, pluginCore.ResourceConstraintsSpec{})
			check(err)
			if results[number] = status; status == pluginCore.AllocationStatusGranted {
				atomic.AddInt64(&holders, 1)
				atomic.AddInt64(&granted, 1)
			}
		})
		most = max(most, holders)
		each(*clients, func(number int) {
			// Propeller releases whatever its task was granted, and tasks that end while they wait.
			task := resourcemanager.GetTaskResourceManager(manager, prefix, execution(number))
			check(task.ReleaseResource(ctx, namespace, fmt.Sprintf("task-%d", round)))
		})
	}
	fmt.Printf("{\"most\": %d, \"granted\": %d}\n", most, granted)
}

func each(clients int, work func(int)) {
	var group sync.WaitGroup
	for number := 0; number < clients; number++ {
		group.Add(1)
		go func() {
			defer group.Done()
			work(number)
		}()
	}
	group.Wait()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
