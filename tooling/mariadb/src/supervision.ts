import type { StartOptions } from '../index.d.ts'

/** The first line that the supervisor reads. As long as its input stays open, it keeps the servers running. */
export interface Order {
  readonly count: number
  readonly options: StartOptions
}

/** The one line that the supervisor writes. */
export type Report =
  | { readonly kind: 'ready'; readonly urls: readonly string[]; readonly pids: readonly number[] }
  | { readonly kind: 'failed'; readonly message: string }
