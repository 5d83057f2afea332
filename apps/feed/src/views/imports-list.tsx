import type { JSX } from 'preact'
import type { Import } from '../model/entities.ts'
import type { Undone } from '../model/imports.ts'
import { ConfirmForm } from './confirm-form.tsx'
import { counted } from './counted.ts'
import type { PageContext } from './page-context.ts'
import { TimeAgo } from './time-ago.tsx'

export interface ImportsListProps {
  readonly ctx: PageContext
  readonly imports: readonly Import[]
}

/** What a person has imported, each with a way to take it out again. */
export function ImportsList({ ctx, imports }: ImportsListProps): JSX.Element | null {
  if (imports.length === 0) return null
  return (
    <section class="imports" aria-labelledby="imports">
      <h2 id="imports">What you have imported</h2>
      <p class="faint">
        To undo an import takes out the entries that it brought, except those that others have commented on or
        like, and then the sources that are left without entries.
      </p>
      <ul>
        {imports.map((one) => (
          <li key={one.id}>
            <p>
              <bdi class="name">{one.title}</bdi>{' '}
              <span class="faint">
                {one.format}, {amount(one) || 'broken off'}, <TimeAgo time={one.imported} now={ctx.now} />
              </span>
            </p>
            <ConfirmForm
              ctx={ctx}
              action={`/imports/${one.id}/undo`}
              label="Undo"
              what={`the import of ${one.title}`}
              yes="Yes, take out what it brought"
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Nothing for an import that broke off, as nobody has counted what it brought. */
function amount({ entries, sources }: { readonly entries: number; readonly sources: number }): string {
  const amounts = [
    ...(entries > 0 ? [counted(entries, 'entry')] : []),
    ...(sources > 0 ? [counted(sources, 'source')] : []),
  ]
  return amounts.join(' and ')
}

/** What came of undoing one. */
export function UndoneNote({ undone }: { readonly undone: Undone }): JSX.Element {
  const { keptEntries } = undone
  const taken = amount(undone)
  return (
    <section class="results" aria-labelledby="results" role="status">
      <h2 id="results">
        Undone: <bdi>{undone.import.title}</bdi>
      </h2>
      <p>
        {taken === '' ? 'There was nothing to take out.' : `Taken out: ${taken}.`}
        {keptEntries === 0
          ? null
          : keptEntries === 1
            ? ' One entry stays, as others have commented on it or like it.'
            : ` ${keptEntries} entries stay, as others have commented on them or like them.`}
      </p>
    </section>
  )
}
