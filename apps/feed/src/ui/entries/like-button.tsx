import type { JSX } from 'preact'
import type { Entry } from '../../kinds/entry.ts'
import { NAME_LENGTH, tidyLine } from '../../text/plain-text.ts'
import { ActButton } from '../form-parts.tsx'
import type { PageContext } from '../page-context.ts'

export interface LikeButtonProps {
  readonly ctx: PageContext
  readonly entry: Entry
  readonly liked: boolean
  /** Path to redirect to. */
  readonly back: string
}

/** A button to like or unlike an entry, or a link to sign in. */
export function LikeButton({ ctx, entry, liked, back }: LikeButtonProps): JSX.Element | null {
  if (ctx.unknownViewer) return null
  const title = <span class="unseen"> {tidyLine(entry.title, NAME_LENGTH)}</span>
  if (ctx.viewer === undefined) {
    return <a href={`/sign-in?back=${encodeURIComponent(back)}`}>Like{title}</a>
  }
  return (
    <ActButton action={`/entries/${entry.id}/${liked ? 'unlike' : 'like'}`} back={back}>
      {liked ? 'Unlike' : 'Like'}
      {title}
    </ActButton>
  )
}
