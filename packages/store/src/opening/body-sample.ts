import { isLooseleafError, isOutage, type CallOptions, type EntityPageRow, type Shard } from '@looseleaf/core'

export interface SampleOptions extends CallOptions {
  /** So many of the oldest entities of a shard, and of those that were written last. */
  readonly rows: number
  /** Bytes; longer bodies are left out of their rows. */
  readonly maxBody: number
}

/** Some rows of a shard, each page read once, when it is asked for first. Empty where the shard does not answer. */
export interface BodySample {
  readonly shard: string
  /** As many as a page has, at the most. */
  readonly rows: number
  oldest(): Promise<readonly EntityPageRow[]>
  /** What was written last. The rows of a small shard are among its oldest too. */
  newest(): Promise<readonly EntityPageRow[]>
  /** False once the shard did not answer. */
  readonly answers: boolean
}

export function sampleBodies({ name, entities }: Shard, { rows, ...options }: SampleOptions): BodySample {
  let oldest: Promise<readonly EntityPageRow[]> | undefined
  let newest: Promise<readonly EntityPageRow[]> | undefined
  let answers = true

  /** A shard that has just fallen silent, or has lost its table, says so to the calls that need it. */
  async function rowsBy(page: Promise<readonly EntityPageRow[]>): Promise<readonly EntityPageRow[]> {
    try {
      return await page
    } catch (error) {
      if (!isOutage(error) && !isLooseleafError(error, 'NOT_MIGRATED')) throw error
      answers = false
      return []
    }
  }

  return {
    shard: name,
    rows,
    oldest: () => (oldest ??= rowsBy(entities.pageByAdded(0, rows, options))),
    newest: () => (newest ??= rowsBy(entities.pageByUpdated({ since: 0 }, rows, options))),
    get answers() {
      return answers
    },
  }
}
