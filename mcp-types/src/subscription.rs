//! `subscriptions/listen`: a stream of notifications. Specification: Subscriptions.

use serde::{Deserialize, Serialize};

use crate::meta::has_meta;
use crate::{NotificationMeta, RequestId, RequestMeta, ResultMeta};

/// Which notifications a client wants, or a server grants. Schema `SubscriptionFilter`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFilter {
    /// That the list of tools changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// That the list of prompts changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// That the list of resources changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// That one of these resources changed, by URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
}

impl SubscriptionFilter {
    /// A filter that lets nothing through.
    pub const fn new() -> Self {
        Self {
            tools_list_changed: None,
            prompts_list_changed: None,
            resources_list_changed: None,
            resource_subscriptions: None,
        }
    }

    /// Also changes to the list of tools.
    #[must_use]
    pub fn tools(self) -> Self {
        Self { tools_list_changed: Some(true), ..self }
    }

    /// Also changes to the list of prompts.
    #[must_use]
    pub fn prompts(self) -> Self {
        Self { prompts_list_changed: Some(true), ..self }
    }

    /// Also changes to the list of resources.
    #[must_use]
    pub fn resources(self) -> Self {
        Self { resources_list_changed: Some(true), ..self }
    }

    /// Also changes to the resource at `uri`.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions.get_or_insert_default().push(uri.into());
        self
    }

    /// Whether it lets nothing through.
    pub fn is_empty(&self) -> bool {
        let lists =
            [self.tools_list_changed, self.prompts_list_changed, self.resources_list_changed];
        !lists.contains(&Some(true))
            && self.resource_subscriptions.iter().flatten().next().is_none()
    }
}

/// The parameters of `subscriptions/listen`. Schema `SubscriptionsListenRequestParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// What the client wants.
    pub notifications: SubscriptionFilter,
}

/// The end of a subscription in good order; `meta.subscription_id` says which. Schema
/// `SubscriptionsListenResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenResult {
    /// What travels beside the payload, here the whole of it.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
}

impl ListenResult {
    /// The end of the subscription that the request `id` opened.
    pub fn new(id: RequestId) -> Self {
        Self { meta: ResultMeta { subscription_id: Some(id), ..ResultMeta::default() } }
    }
}

/// The parameters of `notifications/subscriptions/acknowledged`, the first message of a subscription.
/// Schema `SubscriptionsAcknowledgedNotificationParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgedParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "NotificationMeta::is_empty")]
    pub meta: NotificationMeta,
    /// What the server grants of what was wanted.
    pub notifications: SubscriptionFilter,
}

has_meta!(RequestMeta: ListenParams);
has_meta!(ResultMeta: ListenResult);
has_meta!(NotificationMeta: AcknowledgedParams);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_says_only_what_is_wanted() {
        assert!(SubscriptionFilter::new().is_empty());
        let filter = SubscriptionFilter::new().tools().resource("a:b");
        assert!(!filter.is_empty());
        assert_eq!(
            serde_json::to_string(&filter).unwrap(),
            r#"{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}"#
        );
        let nothing: SubscriptionFilter =
            serde_json::from_str(r#"{"toolsListChanged":false,"resourceSubscriptions":[]}"#)
                .unwrap();
        assert!(nothing.is_empty());
    }
}
