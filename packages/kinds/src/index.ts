export type { BatchWrites } from './batch-writes.ts'
export type { Changes, Edited, Patch } from './checked-patch.ts'
export type { CheckedWhere } from './checked-where.ts'
export type {
  Collection,
  Entities,
  IndexOf,
  ItemChange,
  List,
  ListItem,
  Page,
  PageWithCount,
  Scattered,
} from './collection.ts'
export {
  defineKind,
  type AnyKind,
  type ChangesOf,
  type InputOf,
  type ItemOf,
  type Kind,
  type KindOptions,
  type PageOf,
} from './define-kind.ts'
export { countNear, type KindPlaces, type NearCounts } from './count-near.ts'
export { indexesOf } from './indexes-of.ts'
export type { Failure } from './fate.ts'
export type { Condition } from './intersect.ts'
export type { Reference } from './reference.ts'
export { typed, type Schema } from './schema.ts'
export type { Item, Upgrade } from './shape.ts'
export { upgradeKinds, type UpgradeResult } from './upgrade-kinds.ts'
export type { ChangedWhere } from './where-changes.ts'
export type { WhereOf } from './where.ts'
export { unset } from './unset.ts'
