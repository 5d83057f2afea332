export type { Changes, CheckedPatch, Edited, Patch } from './checked-patch.ts'
export type { CheckedWhere, CheckedWheres } from './checked-where.ts'
export type {
  Collection,
  Entities,
  IndexOf,
  ItemChange,
  List,
  ListItem,
  NewOptions,
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
  type KindIndex,
  type KindOptions,
} from './define-kind.ts'
export { indexesOf } from './indexes-of.ts'
export type { Reference } from './reference.ts'
export { typed, type Schema } from './schema.ts'
export type { Item, Upgrade } from './shape.ts'
export { upgradeKinds, type UpgradeOptions, type UpgradeResult } from './upgrade-kinds.ts'
export type { ChangedWhere, ChangeWhereOptions } from './where-changes.ts'
export type { WhereOf } from './where.ts'
export { unset } from './unset.ts'
export type { Failure } from './fate.ts'
export type {
  BulkOptions,
  DuplicateKeyError,
  Fate,
  FateOptions,
  SomeFailedError,
  ValueOptions,
} from '@looseleaf/core'
