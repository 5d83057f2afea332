/** Folders of the feed's `src`, each with the folders that it may import. Files beside the folders may import all. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  kinds: [],
  text: [],
  feeds: ['text'],
  domain: ['kinds', 'feeds', 'text'],
  http: ['domain', 'kinds', 'text'],
  // Cards show the media of a feed's entries.
  ui: ['domain', 'kinds', 'feeds', 'text'],
  pages: ['http', 'ui', 'domain', 'kinds', 'feeds', 'text'],
  live: ['http', 'ui', 'domain', 'kinds', 'text'],
  crawler: ['domain', 'kinds', 'feeds', 'text'],
  delivery: ['domain', 'kinds', 'text'],
  // Demonstrations and sample data may use all below them.
  stage: ['day', 'live', 'crawler', 'delivery', 'domain', 'kinds', 'feeds', 'text'],
  day: ['crawler', 'delivery', 'domain', 'kinds', 'feeds', 'text'],
}

/** Files beside the folders. */
export const topFiles: readonly string[] = [
  'app.ts',
  'check-feeds.ts',
  'crawl-main.ts',
  'day-main.ts',
  'deliver-main.ts',
  'import-command.ts',
  'import-main.ts',
  'let-pages-go-first.ts',
  'live-index-main.ts',
  'main.ts',
  'serve.ts',
  'settings.ts',
  'start-error.ts',
  'stop-on-signal.ts',
  'usage.ts',
]

/** Folders that may ask other servers. */
export const fetching: readonly string[] = ['crawler', 'day']
