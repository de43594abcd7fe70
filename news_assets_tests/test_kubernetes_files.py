"""deploy/kubernetes as the API server sees it, by Kubernetes' own schemas, and the rules that
schemas do not state.
"""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from news_assets.desks.yaml_nodes import repeated_keys
from news_assets.settings import Settings
from news_assets_tests.test_compose_file import COMPOSE

FOLDER = Path(__file__).parents[1] / "deploy" / "kubernetes"
VERSIONS = ("1.30", "1.37")
TEXTS = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.yaml"))}
KUSTOMIZATION = yaml.safe_load(TEXTS.pop("kustomization.yaml"))
OBJECTS = [one for text in TEXTS.values() for one in yaml.safe_load_all(text)]
DEPLOYMENTS = {
    one["metadata"]["name"]: one["spec"]["template"]["spec"]
    for one in OBJECTS
    if one["kind"] == "Deployment"
}
CONTAINERS = [
    pytest.param(container, id=f"{name}/{container['name']}")
    for name, pod in DEPLOYMENTS.items()
    for container in (*pod["containers"], *pod.get("initContainers", ()))
]
(CONFIG,) = [one["data"] for one in OBJECTS if one["kind"] == "ConfigMap"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "thing", OBJECTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}"
)
def test_every_object_is_one_that_kubernetes_knows(thing: Any, version: str) -> None:
    kubernetes_validate.validate(thing, version, strict=True)


def test_the_kustomization_lists_every_file_and_sets_the_image() -> None:
    assert sorted(KUSTOMIZATION["resources"]) == sorted(TEXTS)
    assert [one["name"] for one in KUSTOMIZATION["images"]] == ["news_assets"]


@pytest.mark.parametrize("name", TEXTS)
def test_no_key_is_repeated(name: str) -> None:
    for document in yaml.compose_all(TEXTS[name], yaml.SafeLoader):
        assert list(repeated_keys(document)) == []


def test_every_process_of_the_compose_file_is_a_deployment() -> None:
    services = COMPOSE["services"]
    processes = {name for name, one in services.items() if "build" in one}
    assert set(DEPLOYMENTS) == processes


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_container_has_no_rights_and_limited_memory(container: Any) -> None:
    assert container["image"] == "news_assets"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_pod_runs_as_another_user_than_root_and_is_checked(name: str) -> None:
    pod = DEPLOYMENTS[name]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 1000
    assert not pod["automountServiceAccountToken"]
    assert not pod["enableServiceLinks"]
    for probe in ("startupProbe", "livenessProbe"):
        command = container[probe]["exec"]["command"]
        assert command == ["deploy/service", "health", name]
    assert ("readinessProbe" in container) == ("ports" in container)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_what_a_pod_writes_to_is_a_volume(name: str) -> None:
    (container,) = DEPLOYMENTS[name]["containers"]
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    volumes = {one["name"] for one in DEPLOYMENTS[name]["volumes"]}
    assert set(mounted) == volumes
    assert {"/data", "/tmp", "/srv/.news"} <= set(mounted.values())


def test_services_lead_to_the_ports_of_their_pods() -> None:
    ports = {
        name: pod["containers"][0]["ports"][0]
        for name, pod in DEPLOYMENTS.items()
        if "ports" in pod["containers"][0]
    }
    services = {
        one["metadata"]["name"]: one["spec"]
        for one in OBJECTS
        if one["kind"] == "Service"
    }
    assert set(services) == set(ports)
    for name, service in services.items():
        (port,) = service["ports"]
        assert service["selector"] == {"app.kubernetes.io/name": name}
        assert port["targetPort"] == ports[name]["name"]
        assert port["port"] == ports[name]["containerPort"]


def test_the_config_has_settings_that_exist_and_no_secret() -> None:
    settings = {f"NEWS_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in CONFIG if name.startswith("NEWS_")} <= settings
    secret = re.compile("PASSWORD|SECRET|TOKEN|KEY|LOGINS|SMTP|CATALOG|BROKER|POSTGRES")
    assert [name for name in CONFIG if secret.search(name)] == []
    assert [one["kind"] for one in OBJECTS if one["kind"] == "Secret"] == []
    given = {"typesense_api_key": "of the secret"}
    for name, value in CONFIG.items():
        given[name.removeprefix("NEWS_").lower()] = value
    Settings.model_validate(given)


def test_there_are_as_many_workers_as_concurrent_runs() -> None:
    (workers,) = [
        one["spec"]["replicas"]
        for one in OBJECTS
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "worker"
    ]
    assert int(CONFIG["DAGSTER_MAX_RUNS"]) == workers
