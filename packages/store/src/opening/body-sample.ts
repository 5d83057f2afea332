import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { isOutage, type EntityPageRow } from '@looseleaf/core/internal'

export interface SampleOptions extends CallOptions {
  /** Number of the oldest entities to read, and of those written last. */
  readonly rows: number
  /** Bytes. A row with a longer body comes without it. */
  readonly maxBody: number
}

/** A sample of the rows of a shard. Reads each page once, when it is first needed. A page that could not be read is empty. */
export interface BodySample {
  readonly shard: string
  /** Largest number of rows of a page. */
  readonly rows: number
  oldest(): Promise<readonly EntityPageRow[]>
  /** Reads the rows written last. On a small shard these may be the oldest too. */
  newest(): Promise<readonly EntityPageRow[]>
  /** False after a page could not be read. */
  readonly answers: boolean
}

export function sampleBodies({ name, entities }: Shard, { rows, ...options }: SampleOptions): BodySample {
  let oldest: Promise<readonly EntityPageRow[]> | undefined
  let newest: Promise<readonly EntityPageRow[]> | undefined
  let answers = true

  /** Returns no rows if the shard does not answer or has lost its table, because calls that need it will report that. */
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
