import type { CallOptions } from './ports/call.ts'

/** The fate of one item of a call that writes many. One item that fails does not keep the others. */
export type Fate<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }

/** Options of a call that writes many items. */
export interface BulkOptions extends CallOptions {
  /**
   * True: the call resolves with the fate of each item. False, the default: it resolves with the values, and rejects with
   * `SOME_FAILED` when an item has failed.
   */
  readonly fates?: boolean | undefined
}

/** Options of a call that resolves with the fate of each item. */
export interface FateOptions extends BulkOptions {
  readonly fates: true
}

/** Options of a call that resolves with the values, and rejects when an item has failed. */
export interface ValueOptions extends BulkOptions {
  readonly fates?: false | undefined
}
