import type { JSX } from 'preact'
import type { Import } from '../../kinds/import.ts'
import type { Notice } from '../../kinds/session.ts'
import { FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { ImportsList } from './imports-list.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface ImportPageProps {
  readonly ctx: PageContext
  readonly form: FormState
  /** Result of the previous form. */
  readonly notice: Notice | undefined
  /** Imports of the signed-in person. */
  readonly imports: readonly Import[]
  readonly paging: Paging
}

export function ImportPage(props: ImportPageProps): JSX.Element {
  const { ctx, form, notice, imports, paging } = props
  return (
    <Layout ctx={ctx} title="Import" section="import">
      <h1 class="page-title">Import a feed</h1>
      <ul class="formats">
        <li>
          An <strong>RSS, Atom, RDF or JSON Feed</strong> file becomes a source of yours with its entries. The
          site does not fetch it.
        </li>
        <li>
          An <strong>OPML</strong> file is the list of subscriptions that a feed reader exports. Each feed in
          it becomes a source, which the site fetches from then on.
        </li>
      </ul>
      <p>
        A file can be imported again at any time: new entries are added, and changed ones updated. To add a
        single feed by its address, use <a href="/add-source">Add a source</a>.
      </p>
      {notice === undefined ? null : <NoticeSection notice={notice} />}
      {ctx.unknownViewer ? null : ctx.viewer === undefined ? (
        <p>
          <a class="button" href="/sign-in?back=/import">
            Sign in to import
          </a>
        </p>
      ) : (
        <ImportForm ctx={ctx} form={form} />
      )}
      <ImportsList ctx={ctx} imports={imports} />
      <OlderLink
        path="/import"
        paging={paging}
        label="Earlier imports"
        before="Later imports"
        end="End of the list."
      />
    </Layout>
  )
}

function ImportForm({ ctx, form }: { readonly ctx: PageContext; readonly form: FormState }): JSX.Element {
  const error = form.errors['files']
  return (
    <form
      class="import-form"
      method="post"
      action="/import"
      encType="multipart/form-data"
      aria-label="Import feed files"
    >
      <FormErrors form={form} />
      <Token ctx={ctx} />
      <div class="field">
        <label for="f-files">Feed or OPML files</label>
        <p class="hint" id="f-files-hint">
          Up to ten at once; 8 MB each, and 32 MB together.
        </p>
        {error === undefined ? null : (
          <p class="error" id="f-files-error">
            {error}
          </p>
        )}
        <input
          id="f-files"
          name="files"
          type="file"
          multiple
          required
          accept=".xml,.rss,.atom,.rdf,.json,.opml,application/xml,text/xml,application/json"
          aria-invalid={error === undefined ? undefined : 'true'}
          autoFocus={error !== undefined}
          aria-describedby={error === undefined ? 'f-files-hint' : 'f-files-hint f-files-error'}
        />
      </div>
      <div class="field">
        <label for="f-address">Address of the feed</label>
        <p class="hint" id="f-address-hint">
          Only for a single file whose links are relative, such as <code>/2026/one/</code>. Nothing is
          fetched.
        </p>
        <input id="f-address" name="address" type="url" maxLength={2000} aria-describedby="f-address-hint" />
      </div>
      <div class="field">
        <label class="tick">
          <input
            type="checkbox"
            name="follow"
            value="yes"
            checked={form.values['follow'] !== ''}
            aria-describedby="f-follow-hint"
          />
          Follow these sources
        </label>
        <p class="hint" id="f-follow-hint">
          Only for OPML files: the entries of their sources come to your home page.
        </p>
      </div>
      <button type="submit">Import</button>
    </form>
  )
}

function NoticeSection({ notice }: { readonly notice: Notice }): JSX.Element {
  return (
    <section class="results" aria-labelledby="results" role="status">
      <h2 id="results">
        {notice.title} <bdi>{notice.about}</bdi>
      </h2>
      <ul>
        {notice.lines.map(({ text, refused, href, label }, i) => (
          <li key={i} class={refused ? 'refused' : 'taken'}>
            {text} {href === '' ? null : <a href={href}>{label}</a>}
          </li>
        ))}
      </ul>
    </section>
  )
}
