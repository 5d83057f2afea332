import { startPublisher, type Publisher } from './publisher.ts'
import { formats, type Format } from './write-feed.ts'

/** Starts so many publishers without items. `ports` are those that they take if they are free. */
export function startPublishers(count: number, ports: readonly number[] = []): Promise<Publisher[]> {
  const starting = Array.from({ length: count }, (_, i) =>
    startPublisher({
      title: `Source ${i}`,
      about: '',
      format: formats[i % formats.length] as Format,
      items: [],
      port: ports[i],
    }),
  )
  return Promise.all(starting)
}

export async function closeAll(publishers: readonly Publisher[]): Promise<void> {
  await Promise.all(publishers.map((publisher) => publisher.close()))
}
