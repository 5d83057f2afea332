import type { JSX } from 'preact'
import type { CommentBy, LikedEntry, PublishedEntry } from '../../domain/entries/cards.ts'
import { isOwnMessage } from '../../domain/entries/entries.ts'
import type { Excerpt } from '../../domain/site/lists.ts'
import { absentName } from '../../ui/absent-name.ts'
import { CommentItem } from '../../ui/entries/comment-item.tsx'
import { DeleteForm } from '../../ui/delete-form.tsx'
import { EntryAvatar, EntryHead, EntryTitle, EntryExtras } from '../../ui/entries/entry-card.tsx'
import { Field, FormErrors, Once, Token, type FormState } from '../../ui/form-parts.tsx'
import { HideButton } from '../../ui/entries/hide-button.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { LikeButton } from '../../ui/entries/like-button.tsx'
import { LikesLine } from '../../ui/entries/likes-line.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { TimeAgo } from '../../ui/time-ago.tsx'
import { MAX_COMMENT_LENGTH } from '../comments/form.ts'
import { isolated } from '../../text/isolated.ts'

/** Number of comments above which their field is far from the entry. */
const MANY_COMMENTS = 5

const REMOVED = 'The author removed this entry'

export interface EntryPageProps {
  readonly ctx: PageContext
  readonly card: LikedEntry
  readonly comments: Excerpt<CommentBy>
  /** Position in the comments. */
  readonly paging: Paging
  readonly shares: readonly PublishedEntry[]
  readonly form: FormState
  /** True if the entry is on the person's home page. */
  readonly isAtHome: boolean
}

export function EntryPage(props: EntryPageProps): JSX.Element {
  const { ctx, card, comments, paging, shares, form, isAtHome } = props
  const { entry } = card
  const path = `/entries/${entry.id}`
  const isRemoved = entry.removed !== undefined
  return (
    <Layout
      ctx={ctx}
      title={`${isRemoved ? REMOVED : isolated(entry.title.slice(0, 80))}${paging.paged ? ', later comments' : ''}`}
      entryId={entry.id}
    >
      {isRemoved ? (
        <RemovedEntry hasComments={comments.total > 0} />
      ) : (
        <WholeEntry
          ctx={ctx}
          card={card}
          isAtHome={isAtHome}
          hasManyComments={comments.items.length > MANY_COMMENTS}
        />
      )}
      <section class="discussion" aria-labelledby="comments">
        <h2 id="comments">{commentsTitle(comments.total, isRemoved)}</h2>
        {paging.paged ? <p class="faint">{placeOf(props)}</p> : null}
        {comments.items.length === 0 ? null : (
          <ul class="comments">
            {comments.items.map((comment) => (
              <CommentItem key={comment.id} ctx={ctx} comment={comment} anchored />
            ))}
          </ul>
        )}
        <OlderLink
          path={path}
          paging={paging}
          label="Later comments"
          before="Earlier comments"
          start="Back to the first comments"
          end="These are the last comments."
        />
        {isRemoved ? null : <CommentForm ctx={ctx} entryId={entry.id} form={form} />}
      </section>
      <AlsoShared ctx={ctx} shares={shares} />
    </Layout>
  )
}

/** Describes a page behind the first comments. It is empty if all comments after its address were deleted, or cannot be read. */
function placeOf({ ctx, comments }: Pick<EntryPageProps, 'ctx' | 'comments'>): string {
  if (comments.items.length > 0) return 'This page shows later comments.'
  return ctx.missingShards.length > 0 ? 'Later comments cannot be read now.' : 'There are no later comments.'
}

function WholeEntry({
  ctx,
  card,
  isAtHome,
  hasManyComments,
}: Pick<EntryPageProps, 'ctx' | 'card' | 'isAtHome'> & { readonly hasManyComments: boolean }): JSX.Element {
  const { entry } = card
  const path = `/entries/${entry.id}`
  return (
    <article class="entry whole" aria-labelledby="title">
      <EntryAvatar card={card} />
      <div class="entry-main">
        <EntryHead ctx={ctx} card={card} />
        <h1 class="entry-title" dir="auto" id="title">
          <EntryTitle entry={entry} />
        </h1>
        {entry.body === undefined ? null : (
          <p class="entry-body" dir="auto">
            {entry.body}
          </p>
        )}
        <EntryExtras entry={entry} />
        <div class="actions">
          <LikeButton ctx={ctx} entry={entry} liked={card.liked} back={ctx.path} />
          {hasManyComments && !ctx.unknownViewer ? <a href="#comment">Comment</a> : null}
          {isAtHome ? <HideButton entry={entry} back="/" /> : null}
          {isOwnMessage(entry, ctx.viewer?.id) ? <a href={`${path}/edit`}>Edit</a> : null}
          {ctx.viewer !== undefined && entry.person_id === ctx.viewer.id ? (
            <DeleteForm ctx={ctx} action={`${path}/delete`} noun="entry" />
          ) : null}
        </div>
        <LikesLine likes={card.likes} liked={card.liked} viewer={ctx.viewer} />
      </div>
    </article>
  )
}

/** Stands in place of an entry without content. */
function RemovedEntry({ hasComments }: { readonly hasComments: boolean }): JSX.Element {
  return (
    <>
      <h1 class="page-title">{REMOVED}</h1>
      <p>
        {hasComments ? 'The comments of others stay. ' : ''}
        <a href="/everything">Everything on this site</a>
      </p>
    </>
  )
}

function commentsTitle(total: number, isRemoved: boolean): string {
  if (total === 0) return isRemoved ? 'No comments' : 'No comments yet'
  return total === 1 ? 'One comment' : `${total} comments`
}

function CommentForm({
  ctx,
  entryId,
  form,
}: {
  ctx: PageContext
  entryId: string
  form: FormState
}): JSX.Element {
  if (ctx.unknownViewer) return <p id="comment" />
  if (ctx.viewer === undefined) {
    return (
      <p class="faint" id="comment">
        <a href={`/sign-in?back=${encodeURIComponent(`${ctx.path}#comment`)}`}>Sign in</a> to say something
        about it.
      </p>
    )
  }
  return (
    <form
      class="comment-form"
      method="post"
      action={`/entries/${entryId}/comments`}
      aria-label="Add a comment"
    >
      <FormErrors form={form} />
      <Token ctx={ctx} />
      <Once form={form} newId={() => ctx.newId(entryId)} />
      {/* Links to #comment focus the field. */}
      <Field
        id="comment"
        form={form}
        name="text"
        label="Your comment"
        rows={3}
        maxLength={MAX_COMMENT_LENGTH}
      />
      <button type="submit">Comment</button>
    </form>
  )
}

function AlsoShared({
  ctx,
  shares,
}: {
  ctx: PageContext
  shares: readonly PublishedEntry[]
}): JSX.Element | null {
  if (shares.length === 0) return null
  return (
    <section class="shares" aria-labelledby="shares">
      <h2 id="shares">Also shared by</h2>
      <ul>
        {shares.map(({ entry, person, source }) => (
          <li key={entry.id}>
            <a href={`/entries/${entry.id}`}>
              <bdi>{entry.title}</bdi>
            </a>{' '}
            <span class="faint">
              <bdi>{person?.full_name ?? source?.title ?? absentName(ctx)}</bdi>,{' '}
              <TimeAgo time={entry.published} now={ctx.now} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
