import type { JSX } from 'preact'
import type { Person } from '../../kinds/person.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface PeoplePageProps {
  readonly ctx: PageContext
  readonly people: readonly Person[]
  readonly paging: Paging
}

export function PeoplePage({ ctx, people, paging }: PeoplePageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="People" section="people">
      <h1 class="page-title">People</h1>
      {people.length === 0 ? (
        <EmptyState ctx={ctx} paged={paging.paged} title="No people yet">
          <p>
            <a href="/join">Join</a> as the first one.
          </p>
        </EmptyState>
      ) : (
        <ul class="tiles">
          {people.map((person) => (
            <li key={person.id} class="tile">
              <Avatar label={person.full_name} hue={person.hue} />
              <div>
                <a class="name" href={`/people/${person.name}`}>
                  <bdi>{person.full_name}</bdi>
                </a>
                <p dir="auto">{person.bio}</p>
              </div>
            </li>
          ))}
        </ul>
      )}
      <OlderLink
        path="/people"
        paging={paging}
        label="More people"
        before="Previous people"
        start="Back to the first people"
        end="End of the list."
      />
    </Layout>
  )
}
