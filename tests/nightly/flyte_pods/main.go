// Command flyte_pods reads tasks, PodTemplates and configurations, one JSON document a line, and prints the pod that
// FlytePropeller's own plugin manager creates for each in a cluster that is kept in memory.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/flyteorg/flyte/flyteidl/gen/pb-go/flyteidl/core"
	pluginsCore "github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/core"
	coreMocks "github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/core/mocks"
	"github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/flytek8s"
	"github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/flytek8s/config"
	ioMocks "github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/io/mocks"
	pluginsK8s "github.com/flyteorg/flyte/flyteplugins/go/tasks/pluginmachinery/k8s"
	"github.com/flyteorg/flyte/flyteplugins/go/tasks/plugins/k8s/pod"
	"github.com/flyteorg/flyte/flytepropeller/pkg/controller/executors/mocks"
	"github.com/flyteorg/flyte/flytepropeller/pkg/controller/nodes/task/k8s"
	"github.com/flyteorg/flyte/flytestdlib/contextutils"
	"github.com/flyteorg/flyte/flytestdlib/promutils"
	"github.com/flyteorg/flyte/flytestdlib/promutils/labeled"
	"github.com/flyteorg/flyte/flytestdlib/utils"
	"github.com/stretchr/testify/mock"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	k8sfake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const podName = "task"

type accelerator struct {
	Device        string `json:"device"`
	PartitionSize string `json:"partition_size"`
	Unpartitioned bool   `json:"unpartitioned"`
}

type testCase struct {
	Namespace    string                 `json:"namespace"`
	Templates    []v1.PodTemplate       `json:"templates"`
	Plugin       config.K8sPluginConfig `json:"plugin"`
	Container    *v1.Container          `json:"container"`
	PodSpec      map[string]any         `json:"pod_spec"`
	Metadata     *core.K8SObjectMetadata `json:"metadata"`
	Primary      string                 `json:"primary"`
	TemplateName string                 `json:"template_name"`
	Accelerator  *accelerator           `json:"accelerator"`
}

func main() {
	labeled.SetMetricKeys(contextutils.NamespaceKey)
	flytek8s.DefaultPodTemplateStore.SetDefaultNamespace("flyte")
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var read testCase
		check(json.Unmarshal(lines.Bytes(), &read))
		created, err := podOf(read)
		if err != nil {
			check(json.NewEncoder(os.Stdout).Encode(map[string]string{"failure": err.Error()}))
			continue
		}
		check(json.NewEncoder(os.Stdout).Encode(created))
	}
	check(lines.Err())
}

func podOf(read testCase) (*v1.Pod, error) {
	ctx := context.Background()
	check(config.SetK8sPluginConfig(&read.Plugin))
	for index := range read.Templates {
		flytek8s.DefaultPodTemplateStore.Store(&read.Templates[index])
		defer flytek8s.DefaultPodTemplateStore.Delete(&read.Templates[index])
	}
	cluster := fake.NewClientBuilder().Build()
	manager, err := k8s.NewPluginManager(ctx, setupOf(cluster), pluginsK8s.PluginEntry{
		ID: "pod", ResourceToWatch: &v1.Pod{}, Plugin: pod.DefaultPodPlugin,
	}, k8s.NewResourceMonitorIndex(), k8sfake.NewSimpleClientset())
	check(err)
	transition, err := manager.Handle(ctx, contextOf(read))
	check(err)
	if info := transition.Info(); info.Phase() != pluginsCore.PhaseQueued {
		return nil, fmt.Errorf("%s", info.Err().GetMessage())
	}
	created := &v1.Pod{}
	return created, cluster.Get(ctx, types.NamespacedName{Namespace: read.Namespace, Name: podName}, created)
}

func setupOf(cluster client.Client) pluginsCore.SetupContext {
	kube := &coreMocks.KubeClient{}
	kube.On("GetClient").Return(cluster)
	kube.On("GetCache").Return(&mocks.FakeInformers{})
	setup := &coreMocks.SetupContext{}
	setup.On("EnqueueOwner").Return(pluginsCore.EnqueueOwner(func(types.NamespacedName) error { return nil }))
	setup.On("KubeClient").Return(kube)
	setup.On("OwnerKind").Return("workflow")
	setup.On("MetricsScope").Return(promutils.NewTestScope())
	return setup
}

func templateOf(read testCase) *core.TaskTemplate {
	task := &core.TaskTemplate{Type: "container", Metadata: &core.TaskMetadata{PodTemplateName: read.TemplateName}}
	if read.Accelerator != nil {
		gpu := &core.GPUAccelerator{Device: read.Accelerator.Device}
		if read.Accelerator.PartitionSize != "" {
			gpu.PartitionSizeValue = &core.GPUAccelerator_PartitionSize{PartitionSize: read.Accelerator.PartitionSize}
		} else if read.Accelerator.Unpartitioned {
			gpu.PartitionSizeValue = &core.GPUAccelerator_Unpartitioned{Unpartitioned: true}
		}
		task.ExtendedResources = &core.ExtendedResources{GpuAccelerator: gpu}
	}
	if read.PodSpec != nil {
		spec, err := utils.MarshalObjToStruct(read.PodSpec)
		check(err)
		task.Target = &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: spec, Metadata: read.Metadata}}
		task.Config = map[string]string{flytek8s.PrimaryContainerKey: read.Primary}
		return task
	}
	container := &core.Container{Image: read.Container.Image, Command: read.Container.Command, Args: read.Container.Args}
	for _, each := range read.Container.Env {
		container.Env = append(container.Env, &core.KeyValuePair{Key: each.Name, Value: each.Value})
	}
	task.Target = &core.TaskTemplate_Container{Container: container}
	return task
}

func contextOf(read testCase) pluginsCore.TaskExecutionContext {
	tasks := &coreMocks.TaskReader{}
	tasks.On("Read", mock.Anything).Return(templateOf(read), nil)
	inputs := &ioMocks.InputReader{}
	inputs.EXPECT().GetInputPath().Return("inputs")
	inputs.EXPECT().GetInputPrefixPath().Return("inputs")
	inputs.EXPECT().Get(mock.Anything).Return(&core.LiteralMap{}, nil)
	outputs := &ioMocks.OutputWriter{}
	outputs.EXPECT().GetOutputPrefixPath().Return("")
	outputs.EXPECT().GetRawOutputPrefix().Return("")
	outputs.EXPECT().GetCheckpointPrefix().Return("")
	outputs.EXPECT().GetPreviousCheckpointsPrefix().Return("")
	states := &coreMocks.PluginStateReader{}
	states.On("Get", mock.Anything).Return(uint8(0), nil)
	written := &coreMocks.PluginStateWriter{}
	written.On("Put", mock.Anything, mock.Anything).Return(nil)

	found := &coreMocks.TaskExecutionContext{}
	found.EXPECT().TaskExecutionMetadata().Return(metadataOf(read))
	found.EXPECT().TaskReader().Return(tasks)
	found.EXPECT().InputReader().Return(inputs)
	found.EXPECT().OutputWriter().Return(outputs)
	found.EXPECT().PluginStateReader().Return(states)
	found.EXPECT().PluginStateWriter().Return(written)
	found.EXPECT().DataStore().Return(nil)
	return found
}

func metadataOf(read testCase) pluginsCore.TaskExecutionMetadata {
	resources := &v1.ResourceRequirements{}
	if read.Container != nil {
		resources = read.Container.Resources.DeepCopy()
	}
	overrides := &coreMocks.TaskOverrides{}
	overrides.On("GetResources").Return(resources)
	overrides.On("GetExtendedResources").Return((*core.ExtendedResources)(nil))
	overrides.On("GetContainerImage").Return("")
	overrides.On("GetPodTemplate").Return((*core.K8SPod)(nil))
	id := &coreMocks.TaskExecutionID{}
	id.On("GetGeneratedName").Return(podName)
	id.On("GetID").Return(core.TaskExecutionIdentifier{})
	id.On("GetUniqueNodeID").Return("n0")

	found := &coreMocks.TaskExecutionMetadata{}
	found.On("GetNamespace").Return(read.Namespace)
	found.On("GetAnnotations").Return(map[string]string{})
	found.On("GetLabels").Return(map[string]string{})
	found.On("GetOwnerReference").Return(metav1.OwnerReference{Name: "owner"})
	found.On("GetSecurityContext").Return(core.SecurityContext{RunAs: &core.Identity{}})
	found.On("GetTaskExecutionID").Return(id)
	found.On("GetOverrides").Return(overrides)
	found.On("IsInterruptible").Return(false)
	found.On("GetK8sServiceAccount").Return("")
	found.On("GetPlatformResources").Return(&v1.ResourceRequirements{})
	found.On("GetEnvironmentVariables").Return(map[string]string(nil))
	found.On("GetConsoleURL").Return("")
	return found
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
