// Proposes the time zone of the browser, where the person has not used another one yet.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const field = document.querySelector("[data-zone] input");
const calendar = document.querySelector("[data-zone-page]");

if (zone && field && field.value === "UTC") field.value = zone;
if (zone && calendar && calendar.value !== zone && [...calendar.list.options].some((one) => one.value === zone)) {
  const address = new URL(location.href);
  address.searchParams.set("zone", zone);
  location.replace(address);
}
