//! The port's Reader on a view.

use std::sync::Arc;

use serde_json::Value;

use super::view::View;
use crate::base::ids::{PlanId, SourceId, TargetIdentity};
use crate::base::map::HashMap;
use crate::base::resource::ResourceId;
use crate::inventory::{Controls, Inventory, LoopRecord, Released, SourceRecord};
use crate::target::{Contents, Definitions, Head, History, HistoryEntry, Live, LogLine, Reader, TargetError};

impl Reader for View {
    fn identity(&self) -> Result<TargetIdentity, TargetError> {
        let ask = "SELECT identity FROM meta";
        let text: String = self.conn.query_row(ask, (), |row| row.get(0)).map_err(|e| self.name.reading(e))?;
        TargetIdentity::parse(&text).map_err(|_| self.name.damaged("its identity can't be read"))
    }

    fn revision(&self) -> Result<Option<String>, TargetError> {
        self.revision_text().map(Some)
    }

    fn sources(&self) -> Result<Vec<SourceRecord>, TargetError> {
        self.source_records()
    }

    fn inventory(&self, source: &SourceId) -> Result<Arc<Inventory>, TargetError> {
        self.source_inventory(source)
    }

    fn released(&self, source: &SourceId) -> Result<Vec<Released>, TargetError> {
        self.source_released(source)
    }

    fn controls(&self, source: &SourceId) -> Result<Controls, TargetError> {
        self.source_controls(source)
    }

    fn loop_record(&self, source: &SourceId) -> Result<LoopRecord, TargetError> {
        self.source_loop(source)
    }

    fn definitions(&self) -> Result<Definitions, TargetError> {
        self.crds().map(Definitions::from)
    }

    fn heads(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Head>, TargetError> {
        self.find_heads(ids)
    }

    fn objects(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Live>, TargetError> {
        self.find_objects(ids)
    }

    fn list(&self, contents: &Contents) -> Result<Vec<Head>, TargetError> {
        self.list_heads(contents)
    }

    fn was_applied(&self, plan: &PlanId) -> Result<bool, TargetError> {
        self.plan_was_applied(plan)
    }

    fn history(&self, ask: &History) -> Result<Vec<HistoryEntry>, TargetError> {
        self.entries(ask)
    }

    fn receipt(&self, id: &str) -> Result<Option<(HistoryEntry, Value)>, TargetError> {
        self.details(id)
    }

    fn log(&self, id: &ResourceId) -> Result<Vec<LogLine>, TargetError> {
        self.lines(id)
    }
}
