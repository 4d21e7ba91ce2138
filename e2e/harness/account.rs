use std::path::Path;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::api::{ObjectMeta, PostParams};
use kube::client::ClientBuilder;
use kube::{Api, Client, Config};

use super::access::Access;
use super::failure::{Context, Failure};
use super::intercept::Intercept;
use super::namespace::Namespace;
use super::wait::eventually;

/// A service account with a token: somebody whom RBAC and admission treat as they would the operator.
pub struct Account {
    name: String,
    namespace: String,
    access: Access,
    administrator: Client,
    metadata: ObjectMeta,
    cluster_metadata: ObjectMeta,
}

impl Account {
    pub(super) async fn create(namespace: &Namespace, administrator: &Access, name: &str) -> Result<Self, Failure> {
        let accounts = namespace.api::<ServiceAccount>();
        let account = ServiceAccount {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            ..ServiceAccount::default()
        };
        accounts
            .create(&PostParams::default(), &account)
            .await
            .context(format_args!("cannot create the service account {name}"))?;
        let token = token_of(&accounts, name).await?;
        let full_name = format!("{}-{name}", namespace.name());
        Ok(Self {
            name: name.to_owned(),
            namespace: namespace.name().to_owned(),
            access: administrator.as_bearer(&token)?,
            administrator: namespace.client(),
            metadata: ObjectMeta { generate_name: Some(format!("{name}-")), ..ObjectMeta::default() },
            cluster_metadata: ObjectMeta {
                generate_name: Some(format!("{full_name}-")),
                owner_references: Some(vec![namespace.owner_reference()]),
                ..ObjectMeta::default()
            },
        })
    }

    /// The name by which admission and audit know it.
    pub fn user_name(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// Grants rules in its own namespace, and returns when the server has taken notice.
    pub async fn allow(&self, granted: Vec<PolicyRule>) -> Result<(), Failure> {
        let role = Role { metadata: self.metadata.clone(), rules: Some(granted) };
        let roles: Api<Role> = Api::namespaced(self.administrator.clone(), &self.namespace);
        let role = roles.create(&PostParams::default(), &role).await.context("cannot create a role")?;
        let binding = RoleBinding {
            metadata: self.metadata.clone(),
            role_ref: role_reference("Role", role.metadata.name.clone()),
            subjects: Some(vec![self.subject()]),
        };
        let bindings: Api<RoleBinding> = Api::namespaced(self.administrator.clone(), &self.namespace);
        bindings.create(&PostParams::default(), &binding).await.context("cannot bind a role")?;
        self.wait_for(role.rules.as_deref().unwrap_or_default(), Some(&self.namespace)).await
    }

    /// Grants rules in all namespaces and on cluster-wide resources. The grant goes with the account's namespace.
    pub async fn allow_everywhere(&self, granted: Vec<PolicyRule>) -> Result<(), Failure> {
        let role =
            ClusterRole { metadata: self.cluster_metadata.clone(), rules: Some(granted), ..ClusterRole::default() };
        let roles: Api<ClusterRole> = Api::all(self.administrator.clone());
        let role = roles.create(&PostParams::default(), &role).await.context("cannot create a cluster role")?;
        let binding = ClusterRoleBinding {
            metadata: self.cluster_metadata.clone(),
            role_ref: role_reference("ClusterRole", role.metadata.name.clone()),
            subjects: Some(vec![self.subject()]),
        };
        let bindings: Api<ClusterRoleBinding> = Api::all(self.administrator.clone());
        bindings.create(&PostParams::default(), &binding).await.context("cannot bind a cluster role")?;
        self.wait_for(role.rules.as_deref().unwrap_or_default(), None).await
    }

    /// A client that is this account.
    pub async fn client(&self) -> Result<Client, Failure> {
        self.access.client().await
    }

    /// A client that is this account and shows every request to `intercept` first.
    pub async fn client_through(&self, intercept: &Intercept) -> Result<Client, Failure> {
        Ok(ClientBuilder::try_from(self.config().await?)?.with_layer(intercept).build())
    }

    /// The configuration for a client of one's own making.
    pub async fn config(&self) -> Result<Config, Failure> {
        self.access.config().await
    }

    /// A kubeconfig with which another program is this account.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), Failure> {
        self.access.write_kubeconfig(path)
    }

    /// The server learns of roles and bindings through watches of its own, a moment after it stored them.
    async fn wait_for(&self, rules: &[PolicyRule], namespace: Option<&str>) -> Result<(), Failure> {
        let reviews: Api<SubjectAccessReview> = Api::all(self.administrator.clone());
        for rule in rules {
            let first = |words: &Option<Vec<String>>| words.as_ref().and_then(|words| words.first().cloned());
            // A rule for paths such as /metrics has no resources; it arrives together with the others.
            let Some(resource) = first(&rule.resources) else {
                continue;
            };
            let (resource, subresource) = match resource.split_once('/') {
                Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
                None => (resource, None),
            };
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    user: Some(self.user_name()),
                    resource_attributes: Some(ResourceAttributes {
                        verb: rule.verbs.first().cloned(),
                        group: first(&rule.api_groups),
                        resource: Some(resource),
                        subresource,
                        name: first(&rule.resource_names),
                        namespace: namespace.map(str::to_owned),
                        ..ResourceAttributes::default()
                    }),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let granted = format!("the right of {} to {:?} {:?}", self.user_name(), rule.verbs, rule.resources);
            eventually(&granted, async || {
                let answer = reviews.create(&PostParams::default(), &review).await?;
                Ok(answer.status.filter(|status| status.allowed).map(drop))
            })
            .await?;
        }
        Ok(())
    }

    fn subject(&self) -> Subject {
        Subject {
            kind: "ServiceAccount".to_owned(),
            name: self.name.clone(),
            namespace: Some(self.namespace.clone()),
            ..Subject::default()
        }
    }
}

fn role_reference(kind: &str, name: Option<String>) -> RoleRef {
    RoleRef { api_group: "rbac.authorization.k8s.io".to_owned(), kind: kind.to_owned(), name: name.unwrap_or_default() }
}

/// A rule in the words of RBAC: these verbs, on these resources of that API group ("" for the core group).
pub fn may(verbs: &[&str], group: &str, resources: &[&str]) -> PolicyRule {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    PolicyRule {
        verbs: owned(verbs),
        api_groups: Some(owned(&[group])),
        resources: Some(owned(resources)),
        ..PolicyRule::default()
    }
}

/// A token for a service account that is there, for example the one of `config/rbac`.
pub async fn token_of(accounts: &Api<ServiceAccount>, name: &str) -> Result<String, Failure> {
    let request = TokenRequest {
        spec: TokenRequestSpec { expiration_seconds: Some(4 * 3600), ..TokenRequestSpec::default() },
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .context(format_args!("no token for the service account {name}"))?;
    let status = answer.status.ok_or_else(|| Failure::new("the server's answer to a TokenRequest has no status"))?;
    Ok(status.token)
}
