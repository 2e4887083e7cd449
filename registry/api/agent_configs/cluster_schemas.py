"""Schemas of registered clusters and of their collectors' reports."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery, ReasonedQuery
from controlplane.api.fields import Instant, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.publishing.hidden_teams import hidden_teams
from registry.agent_configs.source_models import RegisteredCluster
from registry.agent_configs.sources.follow import STATES
from registry.agent_configs.sources.registered.receive import STANDBY, Answer
from registry.agent_configs.sources.registered.reports import EVERY_NAMESPACE, MOST_TEXTS
from registry.agent_configs.sources.state import cluster_state
from registry.api.agent_configs.source_views import STATE_NAMES, PendingDocumentRemoval

REPORT_STATES = [(state, state) for state in (*STATES, STANDBY)]
_MOST_DOCUMENTS = 10_000
_MOST_NAMESPACES = 1_000
_MOST_COUNTS = 50
_DIGEST = r"^[0-9a-f]{64}$"
_BIGGEST = 2**53


class ClusterWrite(StrictSerializer):
    principal = Text(
        max_length=63, help_text="The principal whose reports are accepted; of this cluster alone."
    )
    namespaces = serializers.ListField(
        child=Text(max_length=63),
        max_length=_MOST_NAMESPACES,
        help_text="Namespaces that the cluster may report, each a team; `*` means all.",
    )


class ClusterRead(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Also the `source` of the cluster's documents.")
    principal = serializers.CharField(help_text="Empty if you are not an administrator.")
    namespaces = serializers.ListField(
        child=serializers.CharField(), help_text="Without those of teams that you do not see."
    )
    version = serializers.IntegerField()
    state = serializers.ChoiceField(
        choices=STATE_NAMES, help_text="As in `agent-config-sources`; `off` until the first report."
    )
    documents = serializers.IntegerField(help_text="Number of published documents.")
    collector = serializers.CharField(help_text="The active collector; empty before the first report.")
    collector_version = serializers.CharField()
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When it last reported.")
    loaded_at = serializers.DateTimeField(
        allow_null=True, help_text="When it last reported the cluster completely."
    )
    created_at = serializers.DateTimeField()

    class Meta:
        ref_name = "AgentConfigCluster"


class ClusterListQuery(PageQuery):
    q = SearchField("name", "principal", "collector")
    sort = SortField(SortKeys.of("name", "created_at", tie_break="name"), default="name")


class ClusterPage(serializers.Serializer[Any]):
    items = ClusterRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigClusterPage"


class ClusterRemovalQuery(ReasonedQuery):
    confirm = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=64,
        help_text="The `confirm` value of the refusal, if the cluster has published documents.",
    )


class ReportQuery(MutationQuery):
    pass


class DocumentPlace(StrictSerializer):
    namespace = Text(max_length=63)
    name = Text(max_length=253)


class ReportedDocumentWrite(DocumentPlace):
    sha256 = serializers.RegexField(_DIGEST, help_text="Of the text in UTF-8, in lowercase.")
    size = Whole(min_value=0, max_value=_BIGGEST, help_text="Bytes of the text in UTF-8.")
    created_at = Instant(help_text="When the ConfigMap was created.")


class ReportedTextWrite(DocumentPlace):
    text = serializers.CharField(
        trim_whitespace=False, allow_blank=True, help_text="The text with the reported digest."
    )


class CollectorWrite(StrictSerializer):
    id = serializers.UUIDField(help_text="Chosen at random when the collector starts.")
    name = Text(max_length=255, help_text="Such as the name of its pod.")
    version = Text(required=False, default="", allow_blank=True, max_length=63)
    counts = serializers.DictField(
        child=Whole(min_value=0, max_value=_BIGGEST),
        required=False,
        default=dict,
        help_text="Counts since its start, shown in `agent-config-sources`.",
    )

    def validate_counts(self, counts: dict[str, int]) -> dict[str, int]:
        if len(counts) > _MOST_COUNTS:
            raise serializers.ValidationError(
                f"There can be at most {_MOST_COUNTS} counts.", code="max_length"
            )
        return counts


class ClusterReportWrite(StrictSerializer):
    collector = CollectorWrite()
    documents = serializers.ListField(
        child=ReportedDocumentWrite(),
        max_length=_MOST_DOCUMENTS,
        help_text="All documents of the cluster, also those that have not changed.",
    )
    texts = serializers.ListField(
        child=ReportedTextWrite(),
        required=False,
        default=list,
        max_length=MOST_TEXTS,
        help_text="Texts of some of the documents, as the last response asked for them.",
    )
    errors = serializers.DictField(  # type: ignore[assignment]  # DRF takes it out of the class
        child=Text(max_length=500),
        required=False,
        default=dict,
        help_text="Why namespaces cannot be read; `*` is all. Their documents stay.",
    )
    known_outcomes = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=64,
        help_text="`outcomes_version` of the last response, so that the same outcomes are not sent again.",
    )

    class Meta:
        ref_name = "AgentConfigClusterReport"


class DocumentNotice(serializers.Serializer[Any]):
    reason = serializers.CharField()
    type = serializers.CharField(help_text="`Normal` or `Warning`, as of a Kubernetes Event.")
    note = serializers.CharField()


class DocumentNotices(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    notices = DocumentNotice(many=True)


class DocumentPlaceRead(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()


class ClusterReportRead(serializers.Serializer[Any]):
    state = serializers.ChoiceField(
        choices=REPORT_STATES,
        help_text="`standby`: another collector of the cluster is active, and nothing was read.",
    )
    missing = DocumentPlaceRead(many=True, help_text="Documents whose text the server needs, oldest first.")
    problems = serializers.ListField(child=serializers.CharField())
    pending = PendingDocumentRemoval(allow_null=True)
    again_after = serializers.FloatField(
        allow_null=True, help_text="Seconds after which to report again, because documents have just gone."
    )
    outcomes_version = serializers.CharField()
    outcomes = DocumentNotices(
        many=True, allow_null=True, help_text="What to tell authors; null if `known_outcomes` is current."
    )

    class Meta:
        ref_name = "AgentConfigClusterReportResult"


def show_cluster(row: RegisteredCluster, documents: int, caller: Caller) -> dict[str, Any]:
    hidden = hidden_teams(caller)
    rules = caller.verdict(Action.AGENT_CONFIG_RULE).allowed
    names = ("name", "version", "collector", "collector_version", "checked_at", "loaded_at", "created_at")
    return {
        **{name: getattr(row, name) for name in names},
        "principal": row.principal if rules else "",
        "namespaces": [each for each in row.namespaces if each == EVERY_NAMESPACE or each not in hidden],
        "state": cluster_state(row),
        "documents": documents,
    }


def show_answer(answer: Answer) -> dict[str, Any]:
    outcomes = answer.outcomes
    return {
        "state": answer.state,
        "missing": [{"namespace": each.namespace, "name": each.name} for each in answer.missing],
        "problems": list(answer.problems),
        "pending": answer.pending,
        "again_after": answer.again_after,
        "outcomes_version": answer.outcomes_version,
        "outcomes": None
        if outcomes is None
        else [
            {
                "namespace": document.namespace,
                "name": document.name,
                "notices": [
                    {"reason": notice.reason, "type": notice.type, "note": notice.note} for notice in notices
                ],
            }
            for document, notices in outcomes.items()
        ],
    }


def malformed(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
