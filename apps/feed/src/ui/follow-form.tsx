import type { JSX } from 'preact'
import type { Following } from '../domain/following/queries.ts'
import { counted } from '../text/counted.ts'
import { tidyLine } from '../text/plain-text.ts'
import { Token } from './form-parts.tsx'
import type { PageContext } from './page-context.ts'

export interface FollowFormProps {
  readonly ctx: PageContext
  readonly channelId: string
  readonly following: Following
}

/** The number of followers, and a button to follow or unfollow. */
export function FollowForm({ ctx, channelId, following }: FollowFormProps): JSX.Element {
  const { followers, followed } = following
  return (
    <div class="follow">
      <Button ctx={ctx} channelId={channelId} followed={followed} />
      {followers === undefined ? null : <span class="faint">{counted(followers, 'follower')}</span>}
    </div>
  )
}

function Button({
  ctx,
  channelId,
  followed,
}: Omit<FollowFormProps, 'following'> & Pick<Following, 'followed'>): JSX.Element | null {
  if (ctx.viewer?.id === channelId || ctx.unknownViewer) return null
  if (followed === undefined)
    return ctx.viewer !== undefined ? null : (
      <a class="button" href={`/sign-in?back=${encodeURIComponent(ctx.path)}`}>
        Follow
      </a>
    )
  if (followed) return <UnfollowForm ctx={ctx} channelId={channelId} />
  return (
    <form method="post" action="/follow">
      <Token ctx={ctx} back={ctx.path} />
      <button type="submit" name="channel" value={channelId}>
        Follow
      </button>
    </form>
  )
}

export interface UnfollowFormProps {
  readonly ctx: PageContext
  readonly channelId: string
  /** Name of the channel, for screen readers in a list of channels. */
  readonly name?: string
}

/** Asks whether the entries that have arrived should stay, and unfollows. */
export function UnfollowForm({ ctx, channelId, name }: UnfollowFormProps): JSX.Element {
  return (
    <details class="confirm">
      <summary>
        Unfollow
        {name === undefined ? null : <span class="unseen"> {tidyLine(name, 40)}</span>}
      </summary>
      <form method="post" action="/unfollow">
        <Token ctx={ctx} back={ctx.path} />
        <label class="tick">
          <input type="checkbox" name="remove" value="yes" />
          Remove its entries from my home page
        </label>
        <button class="danger" type="submit" name="channel" value={channelId}>
          Yes, unfollow
        </button>
      </form>
    </details>
  )
}
