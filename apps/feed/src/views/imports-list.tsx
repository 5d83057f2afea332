import type { JSX } from 'preact'
import type { Import } from '../model/entities.ts'
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
                {one.format}, {amountOf(one) || 'broken off'}, <TimeAgo time={one.imported} now={ctx.now} />
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

/** How much was brought or taken out. Nothing for an import that broke off, as nobody has counted what it brought. */
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
