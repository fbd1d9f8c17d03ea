//! Questions to the user.

mod choice;
mod field;
mod params;
mod result;
mod schema;

pub use choice::{
    ChoiceOption, LegacyTitledEnumSchema, TitledItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledItems, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
pub use field::{BooleanSchema, NumberSchema, NumberType, StringFormat, StringSchema};
pub use params::{ElicitFormParams, ElicitParams, ElicitRequest, ElicitUrlParams};
pub use result::{ElicitAction, ElicitResult};
pub use schema::{PrimitiveSchema, RequestedSchema};
