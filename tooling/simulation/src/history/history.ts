import type { Codec } from '@looseleaf/core'
import type { Owners } from '../world/owners.ts'
import { createAcknowledgements, type Acknowledgements } from './acknowledgements.ts'
import {
  createEvidence,
  type Counts,
  type Evidence,
  type HistoryOptions,
  type Operation,
} from './evidence.ts'
import { createReadChecks, type ReadChecks } from './read-checks.ts'
import { createSearchChecks, type SearchChecks } from './search-checks.ts'
import { createWriteChecks, type WriteChecks } from './write-checks.ts'

/**
 * Compares the answers that processes received with the states of the databases. Every write stores the
 * number of its operation in the bag, so that a commit tells its writer.
 */
export interface History
  extends
    WriteChecks,
    ReadChecks,
    SearchChecks,
    Pick<Acknowledgements, 'failedOver' | 'serverCrashed'>,
    Pick<Evidence, 'within'> {
  begin(store?: object): Operation
  /** Returns the number of changes of the databases. */
  moment(): number
  readonly counts: Counts
}

export function createHistory(owners: Owners, codec: Codec, options: HistoryOptions): History {
  const evidence = createEvidence(owners, codec, options)
  const acknowledgements = createAcknowledgements(evidence)
  const { states, counts, within } = evidence
  const { failedOver, serverCrashed } = acknowledgements
  return {
    counts,
    begin: (store) => ({
      number: ++counts.operations,
      since: states.moment(),
      at: options.now(),
      acknowledged: acknowledgements.count(),
      store,
    }),
    moment: () => states.moment(),
    within,
    failedOver,
    serverCrashed,
    ...createWriteChecks(evidence, acknowledgements),
    ...createReadChecks(evidence, acknowledgements),
    ...createSearchChecks(evidence),
  }
}
