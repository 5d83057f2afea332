import type { JSX } from 'preact'
import type { Trace } from 'looseleaf'
import { counted } from '../../text/counted.ts'
import { costOf } from './page-cost.ts'

export interface CostLineProps {
  readonly trace: Trace | undefined
  /** See `PageContext`. */
  readonly xray: () => string | undefined
  readonly formXray: string | undefined
}

/** Shows the cost of a page in its foot, even if the page is an error. */
export function CostLine({ trace, xray, formXray }: CostLineProps): JSX.Element {
  const formLink = formXray === undefined ? null : <a href={formXray}>X-ray of the form that led here</a>
  if (trace === undefined || trace.calls.length === 0)
    return <p class="cost">This page made no calls to the store. {formLink}</p>
  const { calls, failures, indexes, entities, others, shards, shared, ...found } = costOf(trace)
  const address = xray()
  const codes = [...new Set(failures)].join(', ')
  return (
    <p class="cost">
      This page made {counted(calls, 'call')} to the store, in{' '}
      {counted(indexes + entities + others, 'statement')} to {counted(shards, 'shard')}: {indexes} for index
      rows, {entities} for entities
      {others === 0 ? null : `, ${others} for the store’s own tables`}.
      {failures.length === 0 ? null : ` ${failures.length} of the calls failed: ${codes}.`}
      {shared === 0 ? null : ` It shared ${shared} of them with other requests.`} It read{' '}
      {counted(found.entitiesRead, 'entity')}, and discarded {counted(found.rowsDiscarded, 'row')}.
      {found.isComplete ? null : ' An index could not answer in full.'}{' '}
      {address === undefined ? null : <a href={address}>X-ray of this page</a>}
      {address === undefined || formLink === null ? null : ' · '}
      {formLink}
    </p>
  )
}
