import type { JSX } from 'preact'
import type { PageCost } from '../model/page-cost.ts'

/** What the page cost, at its foot. */
export function CostLine({ cost }: { readonly cost: PageCost }): JSX.Element {
  const statements = cost.indexReads + cost.entityReads
  if (statements === 0) return <p class="cost">This page asked nothing of the store.</p>
  return (
    <p class="cost">
      {count(statements, 'statement')} on {count(cost.shards, 'shard')}:{' '}
      {count(cost.indexReads, 'index read')}, {count(cost.entityReads, 'entity read')},{' '}
      {count(cost.entities, 'entity')}, {count(cost.rowsDiscarded, 'row')} discarded.
      {cost.complete ? null : ' An index could not answer in full.'}
    </p>
  )
}

function count(number: number, noun: string): string {
  const plural = number === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${number} ${plural}`
}
