import type { CallOptions } from './ports/call.ts'

/** The fate of one item of a call that writes many: its value, or its error. */
export type Fate<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }

/** Options of a call that writes many items. */
export interface BulkOptions extends CallOptions {
  /**
   * If true, the call resolves with the fate of each item. If false, the default, it resolves with the values, and rejects
   * with `SOME_FAILED` if an item failed.
   */
  readonly fates?: boolean | undefined
}

/** Options of a call that resolves with the fate of each item. */
export interface FateOptions extends BulkOptions {
  readonly fates: true
}

/** Options of a call that resolves with the values, and rejects if an item failed. */
export interface ValueOptions extends BulkOptions {
  readonly fates?: false | undefined
}
