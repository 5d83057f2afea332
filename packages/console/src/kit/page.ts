import { Html, markup } from './html.ts'
import { STYLE } from './style.ts'

export interface Link {
  readonly href: string
  readonly label: string
}

export interface Frame {
  /** Title of the browser's tab. */
  readonly title: string
  /** Name of the list of links, for screen readers. */
  readonly label: string
  readonly links: readonly Link[]
  /** Address of this page in `links`, or of the page to which it belongs. Default: none. */
  readonly current?: string
  /** Default: none. */
  readonly footer?: Html
  /** Styles of this page alone, after the styles of every page. Default: none. */
  readonly style?: string
}

/** Renders a whole page, which loads nothing. */
export function page({ title, label, links, current, footer, style = '' }: Frame, body: Html): string {
  const items = links.map(
    ({ href, label: text }) =>
      markup`<a href="${href}"${href === current ? new Html(' aria-current="page"') : undefined}>${text}</a>`,
  )
  return `<!doctype html>
${
  markup`<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${new Html(STYLE + style)}</style></head>
<body><a class="skip" href="#main">Skip to the content</a><header><nav aria-label="${label}">${items}</nav></header>
<main id="main" tabindex="-1">${body}</main>${footer}</body></html>
`.text
}`
}
