"""Names and places that documents are filled with."""

__all__ = ["CITIES", "FIRST_NAMES", "LAST_NAMES", "MONTHS", "STREETS"]

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")
FIRST_NAMES = ("Ada", "Bruno", "Celia", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaya", "Liam",
               "Mona", "Nils", "Olga", "Pavel", "Rosa", "Samir", "Tara", "Uwe", "Vera", "Wanda", "Yusuf", "Zoe")
LAST_NAMES = ("Abel", "Brandt", "Castro", "Dahl", "Eriksen", "Fischer", "Gomez", "Haas", "Ivanov", "Jansen", "Keller",
              "Lund", "Moreau", "Novak", "Okafor", "Pereira", "Quinn", "Rossi", "Sato", "Torres", "Urban", "Vogel",
              "Weber", "Yilmaz")
CITIES = ("Aarhus", "Bergen", "Cork", "Dresden", "Espoo", "Faro", "Ghent", "Huesca", "Izmir", "Jena", "Kaunas", "Leeds",
          "Malmo", "Nantes", "Oviedo", "Parma", "Quimper", "Rostock", "Siena", "Turku", "Utrecht", "Varna", "Wroclaw",
          "Zagreb")
STREETS = ("Mill Lane", "Harbor Street", "Birch Road", "Station Avenue", "Castle Street", "Orchard Way", "River Walk",
           "Church Road", "Garden Street", "Hill Lane", "Forest Drive", "Bridge Street")
