import type { ComponentChildren, JSX } from 'preact'
import { Avatar } from '../avatar.tsx'
import { CostLine } from './cost-line.tsx'
import { ActButton, ActsForm } from '../form-parts.tsx'
import { MissingBar } from './missing-bar.tsx'
import type { PageContext } from '../page-context.ts'
import { SearchForm } from './search-form.tsx'
import { Strip } from './strip.tsx'

export type Section = 'home' | 'people' | 'sources' | 'import' | 'sign-in'

export interface LayoutProps {
  readonly ctx: PageContext
  /** Title of the browser's window, without the site's name. */
  readonly title: string
  readonly section?: Section
  /** Address of an Atom feed with the entries of this page; undefined if there is none. */
  readonly feed?: string | undefined
  /** Text of the search field. Default: empty. */
  readonly search?: string
  /** Id of the entry that the page is about; undefined if it is about none. */
  readonly entryId?: string | undefined
  /** Lists beside the page, above the links to the viewer's own pages. On a narrow screen all are one row. */
  readonly side?: ComponentChildren
  /** Entries that belong on top of this page when they come; undefined for a page that grows no further. */
  readonly live?: LiveList | undefined
  readonly children: ComponentChildren
}

/** The first page of a list whose new entries the script shows. */
export interface LiveList {
  /** Time of the last arrival that the page takes into account. */
  readonly since: Date
  /** Kind of media that the page is limited to. */
  readonly media?: string | undefined
}

const TABS: readonly { readonly section: Section; readonly href: string; readonly label: string }[] = [
  { section: 'home', href: '/', label: 'Home' },
  { section: 'people', href: '/people', label: 'People' },
  { section: 'sources', href: '/sources', label: 'Sources' },
  { section: 'import', href: '/import', label: 'Import' },
]

/** The frame of every page: a sheet of a ring binder with its index tabs on top. */
export function Layout({
  ctx,
  title,
  section,
  feed,
  search,
  entryId,
  side,
  live,
  children,
}: LayoutProps): JSX.Element {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title === '' ? 'Looseleaf' : `${title} · Looseleaf`}</title>
        <link rel="stylesheet" href={ctx.styles} />
        <script type="module" src={ctx.script} />
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        {feed === undefined ? null : (
          <link rel="alternate" href={feed} type="application/atom+xml" title="Atom" />
        )}
      </head>
      <body data-viewer={ctx.viewer?.name}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {ctx.pulse === undefined || ctx.window === undefined ? null : (
          <Strip pulse={ctx.pulse} window={ctx.window} />
        )}
        <div class="binder">
          <header class="top">
            {/* The first tab leads there, too. */}
            <a class="brand" href="/" tabIndex={-1}>
              <Rings />
              Looseleaf
            </a>
            <SearchForm text={search} />
            <SignedIn ctx={ctx} isSignIn={section === 'sign-in'} />
            <nav class="tabs" aria-label="Site">
              <ul>
                {TABS.map((tab) => (
                  <li key={tab.section}>
                    <a href={tab.href} aria-current={tab.section === section ? 'page' : undefined}>
                      {tab.label}
                      {tab.section === 'home' && ctx.unread !== undefined ? (
                        <span class="count" hidden={ctx.unread === 0}>
                          {ctx.unread}
                          <span class="unseen"> unread</span>
                        </span>
                      ) : null}
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
          </header>
          {ctx.viewer === undefined ? null : (
            <aside class="side" aria-label="Beside the page">
              {side}
              <OtherPages path={ctx.path} />
            </aside>
          )}
          <main
            class="sheet"
            id="main"
            tabIndex={-1}
            data-live={live?.since.getTime()}
            data-media={live?.media}
          >
            <MissingBar ctx={ctx} />
            {children}
          </main>
          <footer class="foot">
            <h2 class="side-title">Behind this page</h2>
            <CostLine trace={ctx.trace} xray={ctx.xray} formXray={ctx.formXray} />
            {ctx.window === undefined ? null : (
              <p class="cost">
                {entryId === undefined ? null : (
                  <>
                    <a href={`${ctx.window}/entity/${entryId}`}>How this entry is stored</a> ·{' '}
                  </>
                )}
                <a href={ctx.window}>Look into the store</a>
              </p>
            )}
            {feed === undefined ? null : (
              <p class="cost">
                <a href={feed}>This page as an Atom feed</a>
              </p>
            )}
          </footer>
        </div>
      </body>
    </html>
  )
}

const OTHER_PAGES = [
  { href: '/everything', label: 'Everything' },
  { href: '/following', label: 'Following' },
  { href: '/settings', label: 'Settings' },
]

/** Links to pages without a tab. */
function OtherPages({ path }: { readonly path: string }): JSX.Element {
  return (
    <nav class="other-pages" aria-labelledby="other-pages">
      <h2 class="side-title" id="other-pages">
        More pages
      </h2>
      <ul>
        {OTHER_PAGES.map(({ href, label }) => (
          <li key={href}>
            <a href={href} aria-current={href === path ? 'page' : undefined}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function SignedIn({
  ctx,
  isSignIn,
}: {
  readonly ctx: PageContext
  /** True on the sign-in page. */
  readonly isSignIn: boolean
}): JSX.Element | null {
  const { viewer } = ctx
  if (ctx.unknownViewer) return null
  if (viewer === undefined) {
    if (isSignIn) return null
    return (
      <p class="who">
        <a class="button quiet" href={`/sign-in?back=${encodeURIComponent(ctx.path)}`}>
          Sign in
        </a>
      </p>
    )
  }
  return (
    <div class="who">
      <a class="me" href={`/people/${viewer.name}`}>
        <Avatar label={viewer.full_name} hue={viewer.hue} />
        <span>
          <span class="unseen">Signed in as </span>
          <bdi>{viewer.full_name}</bdi>
        </span>
      </a>
      <ActsForm ctx={ctx} />
      <ActButton action="/sign-out">Sign out</ActButton>
    </div>
  )
}

function Rings(): JSX.Element {
  return (
    <svg class="rings" viewBox="0 0 28 28" aria-hidden="true" focusable="false">
      <rect x="7" y="2" width="19" height="24" rx="3" />
      <path d="M3 8h8M3 14h8M3 20h8" />
    </svg>
  )
}
