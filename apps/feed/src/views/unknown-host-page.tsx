import type { JSX } from 'preact'

/**
 * What is shown under a name that is not the site's. It stands alone: under that name there is no style sheet either,
 * and nobody is signed in.
 */
export function UnknownHostPage({
  asked,
  home,
}: {
  readonly asked: string
  readonly home: string
}): JSX.Element {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Not a name of this site</title>
      </head>
      <body>
        <main>
          <h1>This site does not go by that name</h1>
          <p>
            It was asked for as <code>{asked}</code>, so nothing is shown here. You find it at{' '}
            <a href={home}>{home}</a>.
          </p>
          <p>
            If the name is right, whoever runs the site can add it:{' '}
            <code>npm start -- --origin http://…</code>
          </p>
        </main>
      </body>
    </html>
  )
}
