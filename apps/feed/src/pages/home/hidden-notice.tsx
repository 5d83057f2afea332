import type { JSX } from 'preact'
import type { Entry } from '../../kinds/entry.ts'
import { ActButton } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'

/** Says that an entry was hidden, and offers to show it again. */
export function HiddenNotice({
  ctx,
  entry,
}: {
  readonly ctx: PageContext
  readonly entry: Pick<Entry, 'id' | 'title'>
}): JSX.Element {
  return (
    <div class="notice" role="status">
      <p>
        Hidden: “<bdi>{entry.title}</bdi>”
      </p>
      <ActButton action={`/entries/${entry.id}/show`} back={ctx.path}>
        Undo
      </ActButton>
    </div>
  )
}
