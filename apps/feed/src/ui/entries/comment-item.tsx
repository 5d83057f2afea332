import type { JSX } from 'preact'
import type { CommentBy } from '../../domain/entries/cards.ts'
import { tidyLine } from '../../text/plain-text.ts'
import { absentName } from '../absent-name.ts'
import { DeleteForm } from '../delete-form.tsx'
import type { PageContext } from '../page-context.ts'
import { TimeAgo } from '../time-ago.tsx'

/** Length of a comment on a card, in UTF-16 units. */
const CARD_COMMENT_LENGTH = 100

export interface CommentItemProps {
  readonly ctx: PageContext
  readonly comment: CommentBy
  /** True on the entry's own page, where a comment has an anchor and can be deleted. */
  readonly anchored: boolean
}

export function CommentItem({ ctx, comment, anchored }: CommentItemProps): JSX.Element {
  const { person } = comment
  return (
    <li class="comment" id={anchored ? `c-${comment.id}` : undefined}>
      <bdi class="comment-text">{anchored ? comment.text : tidyLine(comment.text, CARD_COMMENT_LENGTH)}</bdi>{' '}
      <span class="comment-by">
        <span aria-hidden="true">– </span>
        {person === undefined ? (
          absentName(ctx)
        ) : (
          <a href={`/people/${person.name}`} tabIndex={anchored ? undefined : -1}>
            <bdi>{person.full_name}</bdi>
          </a>
        )}
        {anchored ? (
          <>
            {', '}
            <TimeAgo time={comment.commented} now={ctx.now} />
          </>
        ) : null}
      </span>
      {anchored && comment.person_id === ctx.viewer?.id ? (
        <DeleteForm
          ctx={ctx}
          action={`/comments/${comment.id}/delete`}
          noun="comment"
          back={`${ctx.path}#comments`}
        />
      ) : null}
    </li>
  )
}
