import type { JSX } from 'preact'
import type { PageCost } from '../domain/site/page-cost.ts'
import { counted } from '../text/counted.ts'

export interface CostLineProps {
  readonly cost: PageCost
  /** See `PageContext`. */
  readonly xray: () => string | undefined
  readonly formXray: string | undefined
}

/** Shows the cost of a page in its foot, even if the page is an error. */
export function CostLine({ cost, xray, formXray }: CostLineProps): JSX.Element {
  const { calls, failures, indexes, entities, others, shards, shared } = cost.sent()
  const formLink = formXray === undefined ? null : <a href={formXray}>X-ray of the form that led here</a>
  if (calls === 0) return <p class="cost">This page made no calls to the store. {formLink}</p>
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
      {counted(cost.entities, 'entity')}, and discarded {counted(cost.rowsDiscarded, 'row')}.
      {cost.complete ? null : ' An index could not answer in full.'}{' '}
      {address === undefined ? null : <a href={address}>X-ray of this page</a>}
      {address === undefined || formLink === null ? null : ' · '}
      {formLink}
    </p>
  )
}
