import type { JSX } from 'preact'
import type { PageCost } from '../model/page-cost.ts'
import { counted } from './counted.ts'

/** What the page cost, at its foot. */
export function CostLine({ cost }: { readonly cost: PageCost }): JSX.Element {
  const statements = cost.indexReads + cost.entityReads
  if (statements === 0) return <p class="cost">This page asked nothing of the store.</p>
  return (
    <p class="cost">
      {counted(statements, 'statement')} on {counted(cost.shards, 'shard')}:{' '}
      {counted(cost.indexReads, 'index read')}, {counted(cost.entityReads, 'entity read')},{' '}
      {counted(cost.entities, 'entity')}, {counted(cost.rowsDiscarded, 'row')} discarded.
      {cost.complete ? null : ' An index could not answer in full.'}
    </p>
  )
}
