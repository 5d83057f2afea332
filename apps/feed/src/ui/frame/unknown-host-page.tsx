import type { JSX } from 'preact'

/**
 * The page for an unknown host name. It has no layout: under that name the site serves no style sheet, and has no sessions.
 */
export function UnknownHostPage({
  host,
  home,
}: {
  readonly host: string
  readonly home: string
}): JSX.Element {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Unknown name</title>
      </head>
      <body>
        <main>
          <h1>This site is not known by that name</h1>
          <p>
            The request was for <code>{host}</code>. The site is at <a href={home}>{home}</a>.
          </p>
          <p>
            If the name is right, start the site with it: <code>npm start -- --origin http://…</code>
          </p>
        </main>
      </body>
    </html>
  )
}
