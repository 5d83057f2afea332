import type { JSX } from 'preact'
import type { Import } from '../../kinds/import.ts'
import { ConfirmForm } from '../../ui/confirm-form.tsx'
import { counted } from '../../text/counted.ts'
import type { PageContext } from '../../ui/page-context.ts'
import { TimeAgo } from '../../ui/time-ago.tsx'

export interface ImportsListProps {
  readonly ctx: PageContext
  readonly imports: readonly Import[]
}

/** A person's imports, each with a form to undo it. */
export function ImportsList({ ctx, imports }: ImportsListProps): JSX.Element | null {
  if (imports.length === 0) return null
  return (
    <section class="imports" aria-labelledby="imports">
      <h2 id="imports">Your imports</h2>
      <p class="faint">
        Undoing an import deletes its entries, except those that others have commented on or like, and then
        its sources without entries. You still follow the sources that stay.
      </p>
      <ul>
        {imports.map((item) => (
          <li key={item.id}>
            <p>
              <bdi class="name">{item.title}</bdi>{' '}
              <span class="faint">
                {item.format}, {amountOf(item) || 'not complete'},{' '}
                <TimeAgo time={item.imported} now={ctx.now} />
              </span>
            </p>
            <ConfirmForm
              ctx={ctx}
              action={`/imports/${item.id}/undo`}
              label="Undo"
              object={`the import of ${item.title}`}
              confirmLabel="Yes, undo this import"
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Describes numbers of entries and sources. Returns '' if both are 0, as for an import that has not ended, which has no counts. */
export function amountOf({
  entries,
  sources,
}: {
  readonly entries: number
  readonly sources: number
}): string {
  const amounts = [
    ...(entries > 0 ? [counted(entries, 'entry')] : []),
    ...(sources > 0 ? [counted(sources, 'source')] : []),
  ]
  return amounts.join(' and ')
}
