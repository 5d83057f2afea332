import type { ComponentChildren, JSX } from 'preact'
import type { LikeBy } from '../../domain/entries/cards.ts'
import type { Person } from '../../kinds/person.ts'
import type { Excerpt } from '../../domain/site/lists.ts'

export interface LikesLineProps {
  readonly likes: Excerpt<LikeBy>
  readonly liked: boolean
  readonly viewer: Person | undefined
  /** See `CARD_TAB_INDEX`. */
  readonly tabIndex?: -1
}

/** Text such as "You, Ana, Bo and 3 others like this". Empty without likes. */
export function LikesLine({ likes, liked, viewer, tabIndex }: LikesLineProps): JSX.Element | null {
  if (likes.total === 0) return null
  const others = likes.items.filter((like) => like.person !== undefined && like.person_id !== viewer?.id)
  const named = others.slice(0, 3)
  const rest = likes.total - named.length - (liked ? 1 : 0)
  const parts: ComponentChildren[] = [
    ...(liked ? ['You'] : []),
    ...named.map(({ person }) => (
      <a key={person?.id} href={`/people/${person?.name}`} tabIndex={tabIndex}>
        <bdi>{person?.full_name}</bdi>
      </a>
    )),
    ...(rest > 0 ? [restText(rest, !liked && named.length === 0)] : []),
  ]
  if (parts.length === 0) return null
  const isSingular = parts.length === 1 && !liked && rest <= 1
  return (
    <p class="likes">
      <Heart />
      {parts.map((part, i) => [i === 0 ? '' : i === parts.length - 1 ? ' and ' : ', ', part])}
      {isSingular ? ' likes this' : ' like this'}
    </p>
  )
}

function restText(rest: number, isAll: boolean): string {
  const [one, more] = isAll ? ['person', 'people'] : ['other', 'others']
  return `${rest} ${rest === 1 ? one : more}`
}

function Heart(): JSX.Element {
  return (
    <svg class="heart" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d="M8 14 2.3 8.3a3.6 3.6 0 0 1 5.1-5.1l.6.6.6-.6a3.6 3.6 0 0 1 5.1 5.1z" />
    </svg>
  )
}
