// The story with the client of openapi-generator for Java.
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccessApi;
import org.openapitools.client.api.AgentsApi;
import org.openapitools.client.api.OverridesApi;
import org.openapitools.client.api.ProjectsAndDomainsApi;
import org.openapitools.client.model.OwnedRegistrationWriteRequest;
import org.openapitools.client.model.CostTier;
import org.openapitools.client.model.HeartbeatWriteRequest;
import org.openapitools.client.model.OverrideWriteRequest;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.ProjectWriteRequest;

public class Story {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("CP_URL"));
        client.setRequestInterceptor(request ->
            request.header("Authorization", "Bearer " + System.getenv("CP_TOKEN")));
        OverridesApi overrides = new OverridesApi(client);
        AgentsApi agents = new AgentsApi(client);

        var me = new AccessApi(client).meGet();
        var project = new ProjectsAndDomainsApi(client).projectsCreate(
            ProjectsAndDomainsApi.APIProjectsCreateRequest.newBuilder()
                .projectWriteRequest(new ProjectWriteRequest().id("sdk-java").name("Java")).build());
        var override = overrides.overridesPut(
            OverridesApi.APIOverridesPutRequest.newBuilder()
                .resourceType("workflow_execution_config").project(project.getId())
                .overrideWriteRequest(new OverrideWriteRequest().attributes(Map.of("max_parallelism", 7)))
                .build());
        var leaf = overrides.overridesEffective(
            OverridesApi.APIOverridesEffectiveRequest.newBuilder().project(project.getId()).build())
            .getItems().get(0).getLeaves().get(0);
        var agent = agents.agentsRegister(
            AgentsApi.APIAgentsRegisterRequest.newBuilder()
                .ownedRegistrationWriteRequest(new OwnedRegistrationWriteRequest()
                    .name("sdk-java").environment("prod").serviceTypes(List.of("vm"))
                    .cost(CostTier.LOW).topicName("dcm.agent.sdk-java"))
                .build());
        var heartbeat = agents.agentsHeartbeat(
            AgentsApi.APIAgentsHeartbeatRequest.newBuilder()
                .agentId(agent.getAgentId())
                .heartbeatWriteRequest(
                    new HeartbeatWriteRequest().timestamp(OffsetDateTime.now()).consumerLag(0L))
                .build());
        String code = "found";
        try {
            agents.agentsGet(AgentsApi.APIAgentsGetRequest.newBuilder()
                .agentId(UUID.fromString("019a9f5e-7c00-7000-8000-000000000001")).build());
        } catch (ApiException refused) {
            code = client.getObjectMapper().readValue(refused.getResponseBody(), Problem.class).getCode();
        }
        System.out.println(!me.getName().isEmpty() + " " + override.getVersion() + " " + leaf.getValue() + " "
            + leaf.getSource().getScope().getLevel() + " " + heartbeat.getHealthStatus() + " " + code);
    }
}
