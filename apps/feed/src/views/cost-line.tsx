import type { JSX } from 'preact'
import type { PageCost } from '../model/page-cost.ts'
import { counted } from './counted.ts'

export interface CostLineProps {
  readonly cost: PageCost
  /** Other requests that were under way meanwhile. */
  readonly alongside: number
}

/** What the page cost, at its foot. */
export function CostLine({ cost, alongside }: CostLineProps): JSX.Element {
  if (cost.questions === 0) return <p class="cost">This page asked nothing of the store.</p>
  const { indexes, entities, others, shards } = cost.sent()
  const meant =
    alongside === 0 ? '' : ` for it and the ${counted(alongside, 'request')} that came at the same time`
  return (
    <p class="cost">
      This page asked the store {counted(cost.questions, 'question')}. While it was made,{' '}
      {counted(indexes + entities + others, 'statement')} went to {counted(shards, 'shard')}
      {meant}: {indexes} for index rows, {entities} for entities
      {others === 0 ? null : `, ${others} for the store’s own tables (catalog, tasks, pending writes)`}. Those
      of the index cleaner count too, when it is at work meanwhile. The page read{' '}
      {counted(cost.entities, 'entity')}, and discarded {counted(cost.rowsDiscarded, 'row')}.
      {cost.complete ? null : ' An index could not answer in full.'}
    </p>
  )
}
