import type { JSX } from 'preact'
import type { Person } from '../../kinds/person.ts'

const VIEWS = [
  { view: 'entries', path: '', label: 'Entries' },
  { view: 'likes', path: '/likes', label: 'Likes' },
  { view: 'sources', path: '/sources', label: 'Sources' },
] as const

/** Links between the pages of a person. */
export function PersonViews({
  person,
  view: current,
}: {
  readonly person: Person
  readonly view: (typeof VIEWS)[number]['view']
}): JSX.Element {
  return (
    <nav class="views" aria-label={`Pages of ${person.full_name}`}>
      {VIEWS.map(({ view, path, label }) => (
        <a
          key={view}
          href={`/people/${person.name}${path}`}
          aria-current={view === current ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  )
}
