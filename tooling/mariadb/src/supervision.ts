import type { StartOptions } from '../index.d.ts'

/** First line of the supervisor's input. The servers run as long as the input stays open. */
export interface Order {
  readonly count: number
  readonly options: StartOptions
}

/** The only line of the supervisor's output. */
export type Report =
  | { readonly kind: 'ready'; readonly urls: readonly string[]; readonly pids: readonly number[] }
  | { readonly kind: 'failed'; readonly message: string }
