import type { JSX } from 'preact'
import type { HomeCards } from '../../domain/home/home-page.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { CARD_TAB_INDEX } from '../../ui/entries/entry-card.tsx'
import { Token } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'

/** People whom the viewer may want to follow, with a button for each. */
export function Suggestions({
  ctx,
  people,
}: {
  readonly ctx: PageContext
  readonly people: HomeCards['suggested']
}): JSX.Element | null {
  if (people.length === 0) return null
  return (
    <form class="suggestions" method="post" action="/follow" aria-labelledby="suggestions">
      <h2 class="side-title" id="suggestions">
        People to follow
      </h2>
      <Token ctx={ctx} back="/" />
      <ul>
        {people.map(({ id, name, full_name, hue }) => (
          <li key={id}>
            <Avatar label={full_name} hue={hue} />
            <a href={`/people/${name}`} tabIndex={CARD_TAB_INDEX}>
              <bdi>{full_name}</bdi>
            </a>
            <button class="quiet" type="submit" name="channel" value={id}>
              Follow<span class="unseen"> {full_name}</span>
            </button>
          </li>
        ))}
      </ul>
    </form>
  )
}
