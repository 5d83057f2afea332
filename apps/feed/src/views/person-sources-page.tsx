import type { JSX } from 'preact'
import type { Person, Source } from '../model/entities.ts'
import { Avatar } from './avatar.tsx'
import { EmptyState } from './empty-state.tsx'
import { Layout } from './layout.tsx'
import { OlderLink, type Paging } from './older-link.tsx'
import type { PageContext } from './page-context.ts'
import { PersonViews } from './person-views.tsx'
import { SourceTiles } from './source-tiles.tsx'

export interface PersonSourcesPageProps {
  readonly ctx: PageContext
  readonly person: Person
  readonly sources: readonly Source[]
  readonly paging: Paging
}

/** All sources of a person. */
export function PersonSourcesPage({ ctx, person, sources, paging }: PersonSourcesPageProps): JSX.Element {
  const home = `/people/${person.name}`
  return (
    <Layout ctx={ctx} title={`Sources of ${person.full_name}`} section="people">
      <header class="profile">
        <Avatar label={person.full_name} hue={person.hue} />
        <div>
          <h1 dir="auto">{person.full_name}</h1>
        </div>
      </header>
      <PersonViews person={person} view="sources" />
      {sources.length === 0 ? (
        <EmptyState title="No sources yet">
          <p>The feeds that {person.full_name} imports will appear here.</p>
        </EmptyState>
      ) : (
        <SourceTiles sources={sources} />
      )}
      <OlderLink
        path={`${home}/sources`}
        paging={paging}
        label="More sources"
        before="Previous sources"
        end="End of the list."
      />
    </Layout>
  )
}
