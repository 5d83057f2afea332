import type { JSX } from 'preact'
import type { Entry } from '../../kinds/entry.ts'
import { Token } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'

interface HideProps {
  readonly ctx: PageContext
  readonly entry: Pick<Entry, 'id' | 'title'>
}

/** The form that hides an entry from the sender's home page. */
export function HideForm({ ctx, entry }: HideProps): JSX.Element {
  return (
    <form method="post" action={`/entries/${entry.id}/hide`}>
      <Token ctx={ctx} back={ctx.path} />
      <button class="plain" type="submit">
        Hide<span class="unseen"> {entry.title}</span>
      </button>
    </form>
  )
}

/** Says that an entry was hidden, and offers to show it again. */
export function HiddenNotice({ ctx, entry }: HideProps): JSX.Element {
  return (
    <div class="notice" role="status">
      <p>
        You have hidden “<bdi>{entry.title}</bdi>”.
      </p>
      <form method="post" action={`/entries/${entry.id}/show`}>
        <Token ctx={ctx} back={ctx.path} />
        <button class="plain" type="submit">
          Undo
        </button>
      </form>
    </div>
  )
}
