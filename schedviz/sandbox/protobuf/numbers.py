"""The numbers of fields on the wire, for what clients send as protobuf: `message: field=number ...`.

Read by `protobuf`. What a field is, and what it refers to, says the schema (`openapi`). A field with + is a message
whose own fields stand, in JSON, among those of the message around it. The numbers are the API's own and stay.
"""

from __future__ import annotations

TEXT = """
Pod: metadata=1 spec=2 status=3
ObjectMeta: name=1 generateName=2 namespace=3 uid=5 resourceVersion=6 generation=7 creationTimestamp=8
  deletionTimestamp=9 deletionGracePeriodSeconds=10 labels=11 annotations=12 ownerReferences=13 finalizers=14
OwnerReference: apiVersion=5 kind=1 name=3 uid=4 controller=6 blockOwnerDeletion=7
PodSpec: volumes=1 initContainers=20 containers=2 restartPolicy=3 terminationGracePeriodSeconds=4
  activeDeadlineSeconds=5 dnsPolicy=6 nodeSelector=7 serviceAccountName=8 serviceAccount=9
  automountServiceAccountToken=21 nodeName=10 hostNetwork=11 hostPID=12 hostIPC=13 shareProcessNamespace=27
  securityContext=14 imagePullSecrets=15 hostname=16 subdomain=17 affinity=18 schedulerName=19 tolerations=22
  priorityClassName=24 priority=25 readinessGates=28 runtimeClassName=29 enableServiceLinks=30 preemptionPolicy=31
  overhead=32 topologySpreadConstraints=33 setHostnameAsFQDN=35 hostUsers=37 schedulingGates=38 resourceClaims=39
  resources=40
Volume: name=1 +VolumeSource=2
VolumeSource: hostPath=1 emptyDir=2 gcePersistentDisk=3 awsElasticBlockStore=4 secret=6 nfs=7 iscsi=8
  persistentVolumeClaim=10 rbd=11 downwardAPI=16 configMap=19 projected=26 csi=28 ephemeral=29
HostPathVolumeSource: path=1 type=2
EmptyDirVolumeSource: medium=1 sizeLimit=2
GCEPersistentDiskVolumeSource: pdName=1 fsType=2 partition=3 readOnly=4
AWSElasticBlockStoreVolumeSource: volumeID=1 fsType=2 partition=3 readOnly=4
SecretVolumeSource: secretName=1 items=2 defaultMode=3 optional=4
KeyToPath: key=1 path=2 mode=3
NFSVolumeSource: server=1 path=2 readOnly=3
ISCSIVolumeSource: targetPortal=1 iqn=2 lun=3 iscsiInterface=4 fsType=5 readOnly=6 portals=7 chapAuthDiscovery=8
  chapAuthSession=11 secretRef=10 initiatorName=12
LocalObjectReference: name=1
PersistentVolumeClaimVolumeSource: claimName=1 readOnly=2
RBDVolumeSource: monitors=1 image=2 fsType=3 pool=4 user=5 keyring=6 secretRef=7 readOnly=8
DownwardAPIVolumeSource: items=1 defaultMode=2
DownwardAPIVolumeFile: path=1 fieldRef=2 resourceFieldRef=3 mode=4
ObjectFieldSelector: apiVersion=1 fieldPath=2
ResourceFieldSelector: containerName=1 resource=2 divisor=3
ConfigMapVolumeSource: +LocalObjectReference=1 items=2 defaultMode=3 optional=4
ProjectedVolumeSource: sources=1 defaultMode=2
VolumeProjection: secret=1 downwardAPI=2 configMap=3 serviceAccountToken=4
SecretProjection: +LocalObjectReference=1 items=2 optional=4
DownwardAPIProjection: items=1
ConfigMapProjection: +LocalObjectReference=1 items=2 optional=4
ServiceAccountTokenProjection: audience=1 expirationSeconds=2 path=3
CSIVolumeSource: driver=1 readOnly=2 fsType=3 volumeAttributes=4 nodePublishSecretRef=5
Container: name=1 image=2 command=3 args=4 workingDir=5 ports=6 envFrom=19 env=7 resources=8 volumeMounts=9
  volumeDevices=21 livenessProbe=10 readinessProbe=11 lifecycle=12 terminationMessagePath=13
  terminationMessagePolicy=20 imagePullPolicy=14 securityContext=15 stdin=16 stdinOnce=17 tty=18 startupProbe=22
  restartPolicy=24
ContainerPort: name=1 hostPort=2 containerPort=3 protocol=4 hostIP=5
EnvFromSource: prefix=1 configMapRef=2 secretRef=3
ConfigMapEnvSource: +LocalObjectReference=1 optional=2
SecretEnvSource: +LocalObjectReference=1 optional=2
EnvVar: name=1 value=2 valueFrom=3
EnvVarSource: fieldRef=1 resourceFieldRef=2 configMapKeyRef=3 secretKeyRef=4
ConfigMapKeySelector: +LocalObjectReference=1 key=2 optional=3
SecretKeySelector: +LocalObjectReference=1 key=2 optional=3
ResourceRequirements: limits=1 requests=2 claims=3
VolumeMount: name=1 readOnly=2 mountPath=3 subPath=4 mountPropagation=5 subPathExpr=6
VolumeDevice: name=1 devicePath=2
Probe: +Handler=1 initialDelaySeconds=2 timeoutSeconds=3 periodSeconds=4 successThreshold=5 failureThreshold=6
Handler: exec=1 httpGet=2 tcpSocket=3
ExecAction: command=1
HTTPGetAction: path=1 port=2 host=3 scheme=4 httpHeaders=5
HTTPHeader: name=1 value=2
TCPSocketAction: port=1 host=2
Lifecycle: postStart=1 preStop=2
SecurityContext: capabilities=1 privileged=2 runAsUser=4 runAsGroup=8 runAsNonRoot=5 readOnlyRootFilesystem=6
  allowPrivilegeEscalation=7 procMount=9
Capabilities: add=1 drop=2
PodSecurityContext: runAsUser=2 runAsGroup=6 runAsNonRoot=3 supplementalGroups=4 fsGroup=5
Affinity: nodeAffinity=1 podAffinity=2 podAntiAffinity=3
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution=1 preferredDuringSchedulingIgnoredDuringExecution=2
NodeSelector: nodeSelectorTerms=1
NodeSelectorTerm: matchExpressions=1 matchFields=2
NodeSelectorRequirement: key=1 operator=2 values=3
PreferredSchedulingTerm: weight=1 preference=2
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution=1 preferredDuringSchedulingIgnoredDuringExecution=2
PodAffinityTerm: labelSelector=1 namespaces=2 topologyKey=3 namespaceSelector=4 matchLabelKeys=5 mismatchLabelKeys=6
LabelSelector: matchLabels=1 matchExpressions=2
LabelSelectorRequirement: key=1 operator=2 values=3
WeightedPodAffinityTerm: weight=1 podAffinityTerm=2
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution=1 preferredDuringSchedulingIgnoredDuringExecution=2
Toleration: key=1 operator=2 value=3 effect=4 tolerationSeconds=5
PodReadinessGate: conditionType=1
PodStatus: phase=1 conditions=2 message=3 reason=4 nominatedNodeName=11 hostIP=5 podIP=6 startTime=7
  initContainerStatuses=10 containerStatuses=8 qosClass=9
PodCondition: type=1 status=2 lastProbeTime=3 lastTransitionTime=4 reason=5 message=6
ContainerStatus: name=1 state=2 lastState=3 ready=4 restartCount=5 image=6 imageID=7 containerID=8
ContainerState: waiting=1 running=2 terminated=3
ContainerStateWaiting: reason=1 message=2
ContainerStateRunning: startedAt=1
ContainerStateTerminated: exitCode=1 signal=2 reason=3 message=4 startedAt=5 finishedAt=6 containerID=7
PodTemplateSpec: metadata=1 spec=2
Namespace: metadata=1 spec=2 status=3
NamespaceSpec: finalizers=1
NamespaceStatus: phase=1
ConfigMap: metadata=1 data=2 binaryData=3 immutable=4
Secret: metadata=1 data=2 stringData=4 type=3 immutable=5
ServiceAccount: metadata=1 secrets=2 imagePullSecrets=3 automountServiceAccountToken=4
ObjectReference: kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
Service: metadata=1 spec=2 status=3
ServiceSpec: ports=1 selector=2 clusterIP=3 type=4 externalIPs=5 sessionAffinity=7 loadBalancerIP=8
  loadBalancerSourceRanges=9 externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12
  publishNotReadyAddresses=13 ipFamilyPolicy=17 clusterIPs=18 ipFamilies=19 allocateLoadBalancerNodePorts=20
  loadBalancerClass=21 internalTrafficPolicy=22
ServicePort: name=1 protocol=2 port=3 targetPort=4 nodePort=5
Endpoints: metadata=1 subsets=2
EndpointSubset: addresses=1 notReadyAddresses=2 ports=3
EndpointAddress: ip=1 hostname=3 nodeName=4 targetRef=2
EndpointPort: name=1 port=2 protocol=3
LimitRange: metadata=1 spec=2
LimitRangeSpec: limits=1
LimitRangeItem: type=1 max=2 min=3 default=4 defaultRequest=5 maxLimitRequestRatio=6
ResourceQuota: metadata=1 spec=2 status=3
ResourceQuotaSpec: hard=1 scopes=2 scopeSelector=3
ScopeSelector: matchExpressions=1
ScopedResourceSelectorRequirement: scopeName=1 operator=2 values=3
ResourceQuotaStatus: hard=1 used=2
Node: metadata=1 spec=2 status=3
NodeSpec: podCIDR=1 providerID=3 unschedulable=4 taints=5 podCIDRs=7
Taint: key=1 value=2 effect=3 timeAdded=4
NodeStatus: capacity=1 allocatable=2 phase=3 conditions=4 addresses=5 nodeInfo=7 images=8 volumesInUse=9
NodeCondition: type=1 status=2 lastHeartbeatTime=3 lastTransitionTime=4 reason=5 message=6
NodeAddress: type=1 address=2
NodeSystemInfo: machineID=1 systemUUID=2 bootID=3 kernelVersion=4 osImage=5 containerRuntimeVersion=6
  kubeletVersion=7 kubeProxyVersion=8 operatingSystem=9 architecture=10
ContainerImage: names=1 sizeBytes=2
PersistentVolume: metadata=1 spec=2 status=3
PersistentVolumeSpec: capacity=1 +PersistentVolumeSource=2 accessModes=3 claimRef=4 persistentVolumeReclaimPolicy=5
  storageClassName=6 mountOptions=7 volumeMode=8 nodeAffinity=9 volumeAttributesClassName=10
PersistentVolumeSource: gcePersistentDisk=1 awsElasticBlockStore=2 hostPath=3 nfs=5 rbd=6 iscsi=7 local=20 csi=22
RBDPersistentVolumeSource: monitors=1 image=2 fsType=3 pool=4 user=5 keyring=6 secretRef=7 readOnly=8
SecretReference: name=1 namespace=2
ISCSIPersistentVolumeSource: targetPortal=1 iqn=2 lun=3 iscsiInterface=4 fsType=5 readOnly=6 portals=7
  chapAuthDiscovery=8 chapAuthSession=11 secretRef=10 initiatorName=12
LocalVolumeSource: path=1 fsType=2
CSIPersistentVolumeSource: driver=1 volumeHandle=2 readOnly=3 fsType=4 volumeAttributes=5
  controllerPublishSecretRef=6 nodeStageSecretRef=7 nodePublishSecretRef=8
VolumeNodeAffinity: required=1
PersistentVolumeStatus: phase=1 message=2 reason=3
PersistentVolumeClaim: metadata=1 spec=2 status=3
PersistentVolumeClaimSpec: accessModes=1 selector=4 resources=2 volumeName=3 storageClassName=5 volumeMode=6
  dataSource=7 volumeAttributesClassName=9
TypedLocalObjectReference: apiGroup=1 kind=2 name=3
PersistentVolumeClaimStatus: phase=1 accessModes=2 capacity=3 conditions=4
PersistentVolumeClaimCondition: type=1 status=2 lastProbeTime=3 lastTransitionTime=4 reason=5 message=6
Binding: metadata=1 target=2
Event: metadata=1 involvedObject=2 reason=3 message=4 source=5 firstTimestamp=6 lastTimestamp=7 count=8 type=9
  eventTime=10 series=11 action=12 related=13 reportingComponent=14 reportingInstance=15
EventSource: component=1 host=2
EventSeries: count=1 lastObservedTime=2
TopologySelectorTerm: matchLabelExpressions=1
TopologySelectorLabelRequirement: key=1 values=2
DeleteOptions: gracePeriodSeconds=1 preconditions=2 orphanDependents=3 propagationPolicy=4 dryRun=5
Preconditions: uid=1 resourceVersion=2
VolumeResourceRequirements: limits=1 requests=2
ResourceClaim: name=1 request=2
TopologySpreadConstraint: maxSkew=1 topologyKey=2 whenUnsatisfiable=3 labelSelector=4 minDomains=5
  nodeAffinityPolicy=6 nodeTaintsPolicy=7 matchLabelKeys=8
PodSchedulingGate: name=1
PodResourceClaim: name=1 resourceClaimName=3 resourceClaimTemplateName=4
EphemeralVolumeSource: volumeClaimTemplate=1
PersistentVolumeClaimTemplate: metadata=1 spec=2
LifecycleHandler: exec=1 httpGet=2 tcpSocket=3
Deployment: metadata=1 spec=2 status=3
DeploymentSpec: replicas=1 selector=2 template=3 strategy=4 minReadySeconds=5 revisionHistoryLimit=6 paused=7
  progressDeadlineSeconds=9
DeploymentStrategy: type=1 rollingUpdate=2
RollingUpdateDeployment: maxUnavailable=1 maxSurge=2
ReplicaSet: metadata=1 spec=2 status=3
ReplicaSetSpec: replicas=1 selector=2 template=3 minReadySeconds=4
DaemonSet: metadata=1 spec=2 status=3
DaemonSetSpec: selector=1 template=2 updateStrategy=3 minReadySeconds=4 revisionHistoryLimit=6
DaemonSetUpdateStrategy: type=1 rollingUpdate=2
RollingUpdateDaemonSet: maxUnavailable=1 maxSurge=2
StatefulSet: metadata=1 spec=2 status=3
StatefulSetSpec: replicas=1 selector=2 template=3 volumeClaimTemplates=4 serviceName=5 podManagementPolicy=6
  updateStrategy=7 revisionHistoryLimit=8 minReadySeconds=9
StatefulSetUpdateStrategy: type=1 rollingUpdate=2
RollingUpdateStatefulSetStrategy: partition=1 maxUnavailable=2
Job: metadata=1 spec=2 status=3
JobSpec: parallelism=1 completions=2 activeDeadlineSeconds=3 selector=4 manualSelector=5 template=6 backoffLimit=7
  ttlSecondsAfterFinished=8 completionMode=9 suspend=10 podReplacementPolicy=14
PodDisruptionBudget: metadata=1 spec=2 status=3
PodDisruptionBudgetSpec: minAvailable=1 selector=2 maxUnavailable=3 unhealthyPodEvictionPolicy=4
Eviction: metadata=1 deleteOptions=2
PriorityClass: metadata=1 value=2 globalDefault=3 description=4 preemptionPolicy=5
Lease: metadata=1 spec=2
LeaseSpec: holderIdentity=1 leaseDurationSeconds=2 acquireTime=3 renewTime=4 leaseTransitions=5 strategy=6
  preferredHolder=7
EventsEvent: metadata=1 eventTime=2 series=3 reportingController=4 reportingInstance=5 action=6 reason=7 regarding=8
  related=9 note=10 type=11 deprecatedSource=12 deprecatedFirstTimestamp=13 deprecatedLastTimestamp=14
  deprecatedCount=15
RuntimeClass: metadata=1 handler=2 overhead=3 scheduling=4
Overhead: podFixed=1
Scheduling: nodeSelector=1 tolerations=2
StorageClass: metadata=1 provisioner=2 parameters=3 reclaimPolicy=4 mountOptions=5 allowVolumeExpansion=6
  volumeBindingMode=7 allowedTopologies=8
Scale: metadata=1 spec=2
ScaleSpec: replicas=1
"""


def _read() -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    for word in TEXT.split():
        if word.endswith(":"):
            fields = found[word[:-1]] = {}
        else:
            name, _, number = word.partition("=")
            fields[int(number)] = name
    return found


NUMBERS = _read()
"""message -> number -> field."""
