//! Parses documents within limits, because native loops over their nodes cannot be interrupted.

use query::markup::{ExceededLimit, Limits, Tree};
use rquickjs::{Ctx, Result};

use super::super::errors::throw;

/// Limits for documents. The time of many functions grows with depth times size, or with the square
/// of the number of siblings.
const LIMITS: Limits = Limits {
    depth: 512,
    nodes: 200_000,
};

/// Parses HTML.
///
/// # Errors
///
/// Throws if the document exceeds a limit.
pub fn parse(ctx: &Ctx<'_>, html: &str) -> Result<Tree> {
    Tree::html_within(html, LIMITS).map_err(|exceeded| {
        let message = match exceeded {
            ExceededLimit::Depth => {
                format!(
                    "the HTML document is nested more than {} levels deep",
                    LIMITS.depth
                )
            }
            ExceededLimit::Nodes => {
                format!("the HTML document has more than {} nodes", LIMITS.nodes)
            }
        };
        throw(ctx, &message)
    })
}
