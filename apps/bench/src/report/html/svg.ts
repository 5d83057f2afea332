/** Escapes text for HTML and SVG. */
export const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)

type Attributes = Readonly<Record<string, string | number | undefined>>

/** Returns an element. Numbers in attributes are rounded to a tenth. */
export function tag(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const list = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [`${key}="${typeof value === 'number' ? Number(value.toFixed(1)) : escape(value)}"`],
  )
  return `<${[name, ...list].join(' ')}>${children.join('')}</${name}>`
}

export const text = (x: number, y: number, content: string, more: Attributes = {}): string =>
  tag('text', { x, y, ...more }, escape(content))

/** Returns a drawing that scales to the available width. The label is for screen readers. */
export function drawing(
  width: number,
  height: number,
  label: string,
  ...children: readonly string[]
): string {
  return tag('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label }, ...children)
}

export interface Axis {
  /** Returns the coordinate of a value. */
  place(value: number): number
  /** Values to label. */
  readonly ticks: readonly number[]
}

/** Returns a logarithmic axis that covers all values, between two coordinates. */
export function logAxis(values: readonly number[], from: number, to: number): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const [a, b] = [Math.log10(low) - 0.03, Math.log10(high) + 0.03]
  const place = (value: number): number =>
    from + ((Math.log10(value) - a) / Math.max(b - a, 0.1)) * (to - from)
  const decades = Math.ceil(b) - Math.floor(a)
  const steps = decades > 2 ? [1] : [1, 2, 5]
  const all = Array.from({ length: decades + 1 }, (_, i) => 10 ** (Math.floor(a) + i))
  const ticks = all.flatMap((decade) => steps.map((step) => step * decade))
  return { place, ticks: ticks.filter((tick) => tick >= low * 0.95 && tick <= high * 1.05) }
}

export function linearAxis(values: readonly number[], from: number, to: number): Axis {
  const high = Math.max(...values, 1e-9)
  const step = 10 ** Math.floor(Math.log10(high))
  const fine = high / step < 2.5 ? step / 2 : high / step > 6 ? step * 2 : step
  const ticks = Array.from({ length: Math.floor(high / fine) + 1 }, (_, i) => i * fine)
  return { place: (value) => from + (value / high) * (to - from), ticks }
}
